//! The points in time at which the node has something to do, earliest first.

use litemap::LiteMap;

use runnel_core::time::Instant;

use super::service_links::ServiceLinkId;
use crate::net::ConnId;

/// What is due at a point in time. That of a link which is gone stays: whoever is told looks whether it still is due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The lists of publishers count whole again.
    Lists,
    /// The header on this incoming connection.
    IncomingHeader(ConnId),
    /// The next step of the link to a publisher.
    Link { topic: String, uri: String },
    /// The end of what a link to a service may take.
    ServiceLink(ServiceLinkId),
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    due: LiteMap<(Instant, Timer), ()>,
}

impl Timers {
    pub(super) fn set(&mut self, at: Instant, timer: Timer) {
        self.due.insert((at, timer), ());
    }

    pub(super) fn clear(&mut self, at: Instant, timer: Timer) {
        self.due.remove(&(at, timer));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|((at, _), ())| *at)
    }

    /// Takes one timer that is due.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Timer> {
        let (first, ()) = self.due.first().filter(|((at, _), ())| *at <= now)?;
        let first = first.clone();
        self.due.remove(&first);
        Some(first.1)
    }
}
