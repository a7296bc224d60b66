//! The end of a topic whose messages another publisher continues: its subscribers receive all that was published, and
//! only then get messages of the other one.
//!
//! The kernel acknowledges what a ROS 1 subscriber has not read. So the link is closed in the direction to it, behind the
//! last message: a subscriber that has read to the end closes its side.

use runnel_io::Reactor;

use super::link::Link;
use super::{Publication, State};
use crate::sync::lock;

impl Publication {
    /// Begins to drain: new subscribers are refused, and those in ROS 1 read the end behind the last message.
    pub(crate) fn drain(&self) {
        let mut state = lock(&self.state);
        state.drains = true;
        state.end_flushed_links(&self.reactor);
    }

    /// Whether all subscribers have received everything, so far as this can be known: reliable ones in ROS 2 and those of
    /// TCP connections.
    pub(crate) fn is_drained(&self) -> bool {
        let mut state = lock(&self.state);
        state.end_flushed_links(&self.reactor);
        state.links.is_empty() && state.is_acknowledged()
    }
}

impl State {
    fn end_flushed_links(&mut self, reactor: &Reactor) {
        if self.drains {
            self.links.iter_mut().for_each(|link| link.end_when_flushed(reactor));
        }
    }
}

impl Link {
    /// Closes the connection in the direction to the subscriber, if nothing is left to send.
    fn end_when_flushed(&mut self, reactor: &Reactor) {
        self.flush_if_waiting(reactor);
        if self.is_ended || !self.is_flushed() || !self.is_connection_flushed() {
            return;
        }
        self.is_ended = true;
        // The reactor reports the end of a connection that has failed.
        let _ = self.stream_of_connection().shutdown_writing();
    }
}
