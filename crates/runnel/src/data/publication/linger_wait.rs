//! Wait for messages that were published just before publishers end. There is one wait, even if many publishers end
//! one after the other.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::link::Link;
use super::{Publication, State};
use crate::settings::linger::Unarrived;
use crate::sync::lock;

/// Time after a wait during which the same messages start no other wait.
const GRACE: Duration = Duration::from_secs(1);

/// The number of messages published when a wait began, and its deadline.
pub(super) struct Wait {
    published: u64,
    until: Instant,
}

impl Publication {
    /// True if the kernel has every message of every ROS 1 link.
    pub(crate) fn is_sent_by_links(&self) -> bool {
        lock(&self.state).links.iter().all(Link::is_flushed)
    }

    /// True if the kernel has every message of every ROS 1 link, and every ROS 2 subscriber has acknowledged.
    pub(crate) fn is_flushed(&self) -> bool {
        lock(&self.state).is_flushed()
    }

    /// The deadline of the wait for the messages published until now, if such a wait has begun.
    pub(crate) fn wait_deadline(&self) -> Option<Instant> {
        lock(&self.state).wait_for(self.published(), clock::monotonic())
    }

    /// Begins a wait for all messages that have not arrived, unless there is one already.
    pub(crate) fn begin_wait(&self, now: Instant, linger: Duration) {
        let mut state = lock(&self.state);
        let published = self.published();
        if state.is_flushed() {
            // A late joiner that gets the kept messages is waited for as well.
            state.wait = None;
        } else if state.wait_for(published, now).is_none() {
            state.wait = Some(Wait { published, until: now + linger });
        }
    }
}

impl Publication {
    /// The subscribers that lack messages, and how many.
    pub(crate) fn unarrived(&self) -> Vec<Unarrived> {
        let mut unarrived = self.held_by_links();
        unarrived.extend(self.unacknowledged());
        unarrived
    }

    /// The ROS 1 subscribers whose links have queued messages.
    pub(crate) fn held_by_links(&self) -> Vec<Unarrived> {
        let state = lock(&self.state);
        let waiting = state.links.iter().filter(|link| !link.is_flushed());
        let held = waiting
            .map(|link| Unarrived { subscriber: link.subscriber.clone(), messages: link.waiting() as u64 });
        held.collect()
    }

    /// The ROS 2 subscribers that have unacknowledged messages.
    pub(crate) fn unacknowledged(&self) -> Vec<Unarrived> {
        let mut state = lock(&self.state);
        let mut unarrived = state.unarrived_in_memory();
        unarrived.extend(state.unarrived_leaving());
        let writers = state.groups.iter().filter_map(|group| group.writer());
        unarrived.extend(writers.flat_map(|writer| writer.unarrived()));
        unarrived
    }
}

impl State {
    fn is_flushed(&mut self) -> bool {
        self.links.iter().all(Link::is_flushed) && self.is_acknowledged()
    }

    /// A wait that ended more than [`GRACE`] ago does not count: a late joiner may lack the kept messages now.
    fn wait_for(&self, published: u64, now: Instant) -> Option<Instant> {
        let is_active = |wait: &&Wait| wait.published == published && now < wait.until + GRACE;
        self.wait.as_ref().filter(is_active).map(|wait| wait.until)
    }
}
