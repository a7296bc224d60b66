//! A subscription, and the states of its links to publishers.

use std::collections::BTreeSet;
use std::time::Duration;

use litemap::LiteMap;
use runnel_core::time::Instant;

use crate::net::{ConnId, Endpoint};
use crate::node::config::TopicSpec;
use crate::rpc::CallId;
use crate::tcpros::FrameReader;

/// The first pause before a link is tried again, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A subscription and what is known of its publishers, by the URI of their slave API.
#[derive(Debug)]
pub(in crate::node) struct Subscription {
    pub(in crate::node) spec: TopicSpec,
    pub(super) links: LiteMap<String, Link>,
    pub(super) local: BTreeSet<String>,
    /// Those of them that the master told of last.
    pub(super) listed: BTreeSet<String>,
    /// The master has told of publishers since the registration was asked for.
    pub(super) updated: bool,
}

impl Subscription {
    pub(in crate::node) fn new(spec: TopicSpec) -> Self {
        let (links, local, listed) = (LiteMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { spec, links, local, listed, updated: false }
    }

    /// The publishers in hand.
    pub(super) fn known(&self) -> impl Iterator<Item = &String> {
        self.links.keys().chain(&self.local)
    }

    pub(super) fn knows(&self, uri: &str) -> bool {
        self.links.contains_key(uri) || self.local.contains(uri)
    }

    /// The topic, whose registration is about to be asked for.
    pub(in crate::node) fn begin_registration(&mut self) -> &TopicSpec {
        self.updated = false;
        &self.spec
    }
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) state: LinkState,
    /// The pause before the next try.
    pub(super) pause: Duration,
    /// That it fails is told when the pause is this long, and then no more until it has stood again.
    pub(super) tell_at: Option<Duration>,
    /// It has declined to send datagrams since it stood last.
    pub(super) tcpros_only: bool,
    /// When to look whether it is silent, and how many messages had come when the master listed it.
    pub(super) silent: Option<(Instant, u64)>,
}

impl Link {
    pub(super) fn new() -> Self {
        let (state, tell_at) = (LinkState::Refused, Some(FIRST_PAUSE));
        Self { state, pause: FIRST_PAUSE, tell_at, tcpros_only: false, silent: None }
    }
}

#[derive(Debug)]
pub(super) enum LinkState {
    /// A socket to receive datagrams is being opened.
    ExpectPort { conn: ConnId },
    /// The publisher's node has been asked where its messages are, or to send them to such a socket.
    ExpectAddress { call: CallId, datagrams: Option<ConnId> },
    /// Enough connections to that address are being made: its own comes after them.
    ExpectTurn { to: Endpoint },
    /// The connection is being made.
    ExpectConnection { conn: ConnId, until: Instant },
    /// Our header is sent.
    ExpectHeader { conn: ConnId, until: Instant, reader: FrameReader, token: Option<u128> },
    /// Messages flow.
    Linked { conn: ConnId },
    /// To be tried again.
    Waiting { until: Instant },
    /// The publisher does not accept us, which another try would not change.
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
            Self::ExpectTurn { .. } | Self::Waiting { .. } | Self::Refused => None,
        }
    }

    /// Until when it lasts, if that is limited.
    pub(super) fn until(&self) -> Option<Instant> {
        match self {
            Self::ExpectConnection { until, .. }
            | Self::ExpectHeader { until, .. }
            | Self::Waiting { until } => Some(*until),
            _ => None,
        }
    }
}
