//! A subscription, and the states of its links to publishers.

use std::time::Duration;

use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;

use crate::net::{ConnId, Endpoint};
use crate::node::config::TopicSpec;
use crate::rpc::CallId;
use crate::tcpros::FrameReader;

/// The first pause before a link is retried; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A subscription and its publishers, by the URI of their slave API.
#[derive(Debug)]
pub(in crate::node) struct Subscription {
    pub(in crate::node) spec: TopicSpec,
    pub(super) links: SortedMap<String, Link>,
    pub(super) local: SortedSet<String>,
    /// Publishers in the latest list of the master.
    pub(super) listed: SortedSet<String>,
    /// The master has sent an update since the registration was requested.
    pub(super) updated: bool,
}

impl Subscription {
    pub(in crate::node) fn new(spec: TopicSpec) -> Self {
        let (links, local, listed) = (SortedMap::new(), SortedSet::new(), SortedSet::new());
        Self { spec, links, local, listed, updated: false }
    }

    /// Publishers that have a link or a local publication.
    pub(super) fn known(&self) -> impl Iterator<Item = &String> {
        self.links.keys().chain(&self.local)
    }

    pub(super) fn knows(&self, uri: &str) -> bool {
        self.links.contains_key(uri) || self.local.contains(uri)
    }

    /// Starts a registration; returns the topic to register.
    pub(in crate::node) fn begin_registration(&mut self) -> &TopicSpec {
        self.updated = false;
        &self.spec
    }
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) state: LinkState,
    /// The pause before the next attempt.
    pub(super) pause: Duration,
    /// The length of pause at which a failure is reported. It is reported once, until the link is established again.
    pub(super) report_at: Option<Duration>,
    /// The publisher has declined UDPROS since the link was last established.
    pub(super) tcpros_only: bool,
    /// When to check for silence, and the message count when the master listed the publisher.
    pub(super) silent: Option<(Instant, u64)>,
}

impl Link {
    pub(super) fn new() -> Self {
        let (state, report_at) = (LinkState::Refused, Some(FIRST_PAUSE));
        Self { state, pause: FIRST_PAUSE, report_at, tcpros_only: false, silent: None }
    }
}

#[derive(Debug)]
pub(super) enum LinkState {
    /// A socket for datagrams is being opened.
    ExpectPort { conn: ConnId },
    /// A request has been sent to the publisher's node: for its address, or to send datagrams to this socket.
    ExpectAddress { call: CallId, datagrams: Option<ConnId> },
    /// Too many connection attempts to that address are in progress.
    ExpectSlot { to: Endpoint },
    /// The connection is being opened.
    ExpectConnection { conn: ConnId, until: Instant },
    /// The node's header is sent; the publisher's is expected.
    ExpectHeader { conn: ConnId, until: Instant, reader: FrameReader, token: Option<u128> },
    /// The link is established.
    Linked { conn: ConnId },
    /// The next attempt is at `until`.
    Waiting { until: Instant },
    /// The publisher has refused the link, which a retry would not change.
    Refused,
}

impl LinkState {
    pub(super) fn conn(&self) -> Option<ConnId> {
        match self {
            Self::ExpectPort { conn }
            | Self::ExpectConnection { conn, .. }
            | Self::ExpectHeader { conn, .. }
            | Self::Linked { conn } => Some(*conn),
            Self::ExpectAddress { datagrams, .. } => *datagrams,
            Self::ExpectSlot { .. } | Self::Waiting { .. } | Self::Refused => None,
        }
    }

    /// When the state times out.
    pub(super) fn until(&self) -> Option<Instant> {
        match self {
            Self::ExpectConnection { until, .. }
            | Self::ExpectHeader { until, .. }
            | Self::Waiting { until } => Some(*until),
            _ => None,
        }
    }
}
