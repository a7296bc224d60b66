//! What RTPS brings: the loop receives datagrams, and hands samples and events to whom they concern.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use runnel_io::{Datagrams, clock};
use runnel_rtps::wire::EntityId;
use runnel_rtps::{Event, Sample};

use crate::driver::effect::Effect;
use crate::driver::sockets::Socket;
use crate::driver::{Driver, Turned};
use crate::rtps::Brought;

/// So often that is done where all that has come is to be received; peers may send without end.
const MOST_BATCHES: usize = 256;

/// Whether sessions are read for an event.
fn ends_pairs(event: &Event) -> bool {
    matches!(event, Event::Unmatched { .. } | Event::ParticipantLost(_) | Event::EndpointLost(_))
}

impl Driver {
    /// Datagrams have come: takes as many as one system call gives, and the rest in the next turn. True if there were any.
    pub(super) fn rtps_readable(&mut self, socket: &Datagrams) -> bool {
        if !self.ros2.receive(socket) {
            return false;
        }
        // A session that ends has its rest read, and may have the datagrams taken for that.
        self.end_abandoned_sessions();
        self.take_datagrams()
    }

    /// Takes the datagrams that have been received, up to one that the loop has to do something for. True if there were any.
    fn take_datagrams(&mut self) -> bool {
        let Some(rtps) = self.ros2.rtps.clone() else { return false };
        let mut inbox = std::mem::take(&mut self.ros2.inbox);
        let mut any = false;
        while !self.ros2.waits_for_loop()
            && let Some((datagram, from)) = inbox.next()
        {
            any = true;
            let mut brought = std::mem::take(&mut self.ros2.brought);
            self.ros2.heard_at = Some(rtps.handle_datagram(from, datagram, &mut brought));
            self.dispatch_rtps(brought, datagram);
        }
        self.ros2.inbox = inbox;
        if any {
            self.sockets.joining.wake();
        }
        self.follow_rtps();
        any
    }

    /// Gives the user of a reader what RTPS has held back.
    pub(super) fn take_held(&mut self, reader: EntityId) {
        let samples = self.ros2.take_held(reader);
        let brought = Brought { samples, ..std::mem::take(&mut self.ros2.brought) };
        self.dispatch_rtps(brought, &[]);
        self.follow_rtps();
    }

    /// RTPS may have passed over samples for which others wait. To be called when all that it gave is handed out.
    fn follow_rtps(&mut self) {
        if self.sessions.draining.is_empty() {
            return;
        }
        for pair in self.sessions.draining.clone() {
            if self.sessions.skip_of_rtps(pair) {
                self.deliver_pair(pair);
            }
        }
    }

    /// What has come is given to whom it concerns, some of it from this datagram. The end of a pair comes after all samples, and
    /// is left to the loop with what is behind it, since sessions are read for it.
    pub(in crate::driver) fn dispatch_rtps(&mut self, mut brought: Brought, datagram: &[u8]) {
        for event in brought.events.drain(..) {
            if !self.ros2.ends.is_empty() {
                self.ros2.ends.push_back(event);
            } else if ends_pairs(&event) {
                self.ros2.ends.push_back(event);
                self.effects.push_back(Effect::PairsEnded);
            } else {
                self.ros2_event(event);
            }
        }
        for sample in brought.samples.drain(..) {
            self.dispatch_sample(sample, datagram);
        }
        self.ros2.brought = brought;
    }

    pub(super) fn dispatch_sample(&mut self, sample: Sample, datagram: &[u8]) {
        if let Some((pair, number, bytes)) = self.ros2.on_sample(sample, datagram, &mut self.effects) {
            self.sessions.message_of_rtps(pair, number, bytes);
            self.deliver_pair(pair);
        }
    }

    /// Does what was left to the loop, and goes on with the datagrams that came behind it. Samples that wait for the ends of links
    /// come first: the loop comes back here when it has given them.
    pub(in crate::driver) fn end_pairs(&mut self) {
        while !self.ros2.has_refused()
            && let Some(event) = self.ros2.ends.front().cloned()
        {
            self.ros2_event(event);
            // Not before: until then no datagram is taken.
            self.ros2.ends.pop_front();
        }
        self.take_datagrams();
        self.drain_rtps();
    }

    /// Reads RTPS for the pairs that began when it could not be read, unless that is still so.
    fn drain_rtps(&mut self) {
        if self.sessions.is_network_unread && self.receive_rtps() {
            for pair in self.sessions.network_drained() {
                self.deliver_pair(pair);
            }
        }
    }

    /// Receives the user data that has come so far, unless the loop has something to do first.
    /// True if that is all.
    pub(in crate::driver) fn receive_rtps(&mut self) -> bool {
        for key in self.sockets.keys() {
            let Some(Socket::Rtps(socket)) = self.sockets.get(key) else { continue };
            let socket = Arc::clone(socket);
            if self.ros2.hears_groups(&socket) {
                continue;
            }
            let mut batches = 0;
            while batches < MOST_BATCHES && self.rtps_readable(&socket) {
                batches += 1;
            }
        }
        let is_all = !self.ros2.waits_for_loop();
        if is_all {
            self.ros2.forget_looks();
        }
        is_all
    }

    /// What has happened in the ROS 2 graph while others worked on the participant.
    pub(super) fn take_ros2_events(&mut self) {
        if let Some(brought) = self.ros2.rtps.as_ref().and_then(|rtps| rtps.take_events()) {
            self.dispatch_rtps(brought, &[]);
        }
    }

    /// Does what is due in the ROS 2 graph.
    pub(super) fn serve_ros2(&mut self, turned: &mut Turned) {
        let Some(rtps) = &self.ros2.rtps else { return };
        // What came in this turn told the time.
        let now = self.ros2.heard_at.take().unwrap_or_else(clock::monotonic);
        if rtps.deadline().is_some_and(|at| at <= now) {
            rtps.handle_timeout();
            self.sockets.joining.wake();
            turned.served = true;
        }
        if rtps.wants_more() {
            self.ros2.fill_rooms(&mut self.effects);
        }
        self.take_ros2_events();
    }

    /// What happens to pairs concerns sessions and links of ROS 1 as well; all else is the graph's.
    fn ros2_event(&mut self, event: Event) {
        let Self { ros2, effects, .. } = self;
        match event {
            Event::Matched { local, remote } => {
                ros2.matched(local, remote);
                ros2.pair_met(local, remote, effects);
                self.reader_matched(local, remote);
            }
            Event::Unmatched { local, remote } => {
                self.pair_parted(local, remote);
                self.reader_unmatched(local, remote);
                self.ros2.unmatched(local, remote);
            }
            Event::ParticipantLost(participant) => {
                let pairs = ros2.participant_lost(participant, effects);
                pairs.into_iter().for_each(|pair| self.lose_pair(pair));
            }
            Event::EndpointLost(endpoint) => {
                let ended = ros2.publisher_lost(endpoint);
                self.end_endpoints(&ended);
            }
            other => ros2.on_event(other, effects),
        }
    }

    /// Endpoints end: what sessions have of their pairs comes first.
    pub(in crate::driver) fn end_endpoints(&mut self, ids: &[EntityId]) {
        for id in ids {
            self.ros2.met_by(*id).into_iter().for_each(|remote| self.pair_parted(*id, remote));
            self.ros2.remove_endpoint(*id, &mut self.effects);
        }
    }
}
