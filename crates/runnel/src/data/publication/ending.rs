//! What was published just before publishers end, and is still to arrive: it is waited for once, however many of them end one
//! after the other.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::link::Link;
use super::{Publication, State};
use crate::linger::Unarrived;
use crate::sync::lock;

/// For so long after a wait is over there is no other for the same messages.
const GRACE: Duration = Duration::from_secs(1);

/// What had been published when a wait began, and until when it is waited for.
pub(super) struct Wait {
    published: u64,
    until: Instant,
}

impl Publication {
    /// True if every message went to the kernel, or waits for nobody's connection.
    pub(crate) fn is_sent_by_links(&self) -> bool {
        lock(&self.state).links.iter().all(Link::is_flushed)
    }

    /// True if every message went to the kernel, or is with the subscriber's process where ROS 2 tells.
    pub(crate) fn is_flushed(&self) -> bool {
        lock(&self.state).is_flushed()
    }

    /// Until when what was published so far is waited for, if a wait for it has begun.
    pub(crate) fn is_waited_for(&self) -> Option<Instant> {
        lock(&self.state).wait_for(self.published(), clock::monotonic())
    }

    /// A wait begins for all that was published and is still to arrive, unless it is waited for already.
    pub(crate) fn begin_wait(&self, now: Instant, linger: Duration) {
        let mut state = lock(&self.state);
        let published = self.published();
        if state.is_flushed() {
            // Who comes after this, and gets what is kept, is waited for as well.
            state.wait = None;
        } else if state.wait_for(published, now).is_none() {
            state.wait = Some(Wait { published, until: now + linger });
        }
    }
}

impl Publication {
    /// The subscribers that have yet to get messages, and how many.
    pub(crate) fn unarrived(&self) -> Vec<Unarrived> {
        let mut unarrived = self.held_by_links();
        unarrived.extend(self.unacknowledged());
        unarrived
    }

    /// The subscribers of ROS 1 whose links hold messages back.
    pub(crate) fn held_by_links(&self) -> Vec<Unarrived> {
        let state = lock(&self.state);
        let waiting = state.links.iter().filter(|link| !link.is_flushed());
        let held = waiting
            .map(|link| Unarrived { subscriber: link.subscriber.clone(), messages: link.waiting() as u64 });
        held.collect()
    }

    /// The subscribers of ROS 2 that have yet to acknowledge messages.
    pub(crate) fn unacknowledged(&self) -> Vec<Unarrived> {
        let mut state = lock(&self.state);
        let mut unarrived = state.unarrived_in_memory();
        unarrived.extend(state.unarrived_for_link());
        let writers = state.offers.iter().filter_map(|offer| offer.writer());
        unarrived.extend(writers.flat_map(|writer| writer.unarrived()));
        unarrived
    }
}

impl State {
    fn is_flushed(&mut self) -> bool {
        self.links.iter().all(Link::is_flushed) && self.is_acknowledged()
    }

    /// One that was over a while ago was for the ends of others: somebody may have come since who gets what is kept.
    fn wait_for(&self, published: u64, now: Instant) -> Option<Instant> {
        let is_so = |wait: &&Wait| wait.published == published && now < wait.until + GRACE;
        self.wait.as_ref().filter(is_so).map(|wait| wait.until)
    }
}
