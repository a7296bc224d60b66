//! Reception of datagrams, and dispatch of the samples and events of RTPS.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use runnel_io::{Datagrams, clock};
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Event, Sample};

use crate::driver::effect::Effect;
use crate::driver::sockets::Socket;
use crate::driver::{Driver, PollOutcome};
use crate::rtps::ReceivedBatch;

/// Maximum number of batches in one reception, since peers may send without end.
const MAX_BATCHES: usize = 256;

/// Whether an event may end pairs, for which IPC connections are read.
fn may_end_pairs(event: &Event) -> bool {
    matches!(event, Event::Unmatched { .. } | Event::ParticipantLost(_) | Event::EndpointLost(_))
}

impl Driver {
    /// Takes the datagrams of one system call; the next iteration takes more. True if there were any.
    pub(super) fn rtps_readable(&mut self, socket: &Datagrams) -> bool {
        if !self.ros2.receive(socket) {
            return false;
        }
        // This reads the rest of these IPC connections, which may take the datagrams.
        self.end_abandoned_ipc_connections();
        self.take_datagrams()
    }

    /// Takes received datagrams, up to one for which the event loop has work; true if there were any.
    fn take_datagrams(&mut self) -> bool {
        let Some(rtps) = self.ros2.rtps.clone() else { return false };
        let mut inbox = std::mem::take(&mut self.ros2.inbox);
        let mut any = false;
        while !self.ros2.waits_for_loop()
            && let Some((datagram, from)) = inbox.next()
        {
            any = true;
            let mut received_batch = std::mem::take(&mut self.ros2.received_batch);
            self.ros2.received_at = Some(rtps.handle_datagram(from, datagram, &mut received_batch));
            self.dispatch_rtps(received_batch, datagram);
        }
        self.ros2.inbox = inbox;
        if any {
            self.sockets.joining.wake();
        }
        self.follow_rtps();
        any
    }

    /// Delivers the samples that RTPS has held back for a reader.
    pub(super) fn take_held(&mut self, reader: EntityId) {
        let samples = self.ros2.take_held(reader);
        let received_batch = ReceivedBatch { samples, ..std::mem::take(&mut self.ros2.received_batch) };
        self.dispatch_rtps(received_batch, &[]);
        self.follow_rtps();
    }

    /// Informs receivers of samples that RTPS has skipped. All samples from RTPS must have been dispatched before.
    fn follow_rtps(&mut self) {
        if self.ipc_connections.draining.is_empty() {
            return;
        }
        for pair in self.ipc_connections.draining.clone() {
            if self.ipc_connections.skip_of_rtps(pair) {
                self.deliver_pair(pair);
            }
        }
    }

    /// Dispatches output of RTPS, some of which lies in this datagram. Events that may end pairs come after all
    /// samples. They and all events behind them are left to the event loop, since IPC connections are read for them.
    pub(in crate::driver) fn dispatch_rtps(&mut self, mut received_batch: ReceivedBatch, datagram: &[u8]) {
        for event in received_batch.events.drain(..) {
            if !self.ros2.pending_events.is_empty() {
                self.ros2.pending_events.push_back(event);
            } else if may_end_pairs(&event) {
                self.ros2.pending_events.push_back(event);
                self.effects.push_back(Effect::PairsEnded);
            } else {
                self.ros2_event(event);
            }
        }
        for sample in received_batch.samples.drain(..) {
            self.dispatch_sample(sample, datagram);
        }
        self.ros2.received_batch = received_batch;
    }

    pub(super) fn dispatch_sample(&mut self, sample: Sample, datagram: &[u8]) {
        if let Some((pair, number, bytes)) = self.ros2.on_sample(sample, datagram, &mut self.effects) {
            self.ipc_connections.message_of_rtps(pair, number, bytes);
            self.deliver_pair(pair);
        }
    }

    /// Handles these events, then the datagrams behind them. Samples that wait for the ends of links come first: the event
    /// loop calls this again after it has delivered them.
    pub(in crate::driver) fn end_pairs(&mut self) {
        while !self.ros2.has_refused()
            && let Some(event) = self.ros2.pending_events.front().cloned()
        {
            self.ros2_event(event);
            // Not earlier, since no datagram may be taken before.
            self.ros2.pending_events.pop_front();
        }
        self.take_datagrams();
        self.drain_rtps();
    }

    /// Reads RTPS for pairs that switched to shared memory while that was impossible, if it is possible now.
    fn drain_rtps(&mut self) {
        if self.ipc_connections.is_network_unread && self.receive_rtps() {
            for pair in self.ipc_connections.network_drained() {
                self.deliver_pair(pair);
            }
        }
    }

    /// Receives all user data that has arrived, as far as the event loop has no earlier work. True if that is all.
    pub(in crate::driver) fn receive_rtps(&mut self) -> bool {
        for key in self.sockets.keys() {
            let Some(Socket::Rtps(socket)) = self.sockets.get(key) else { continue };
            let socket = Arc::clone(socket);
            if self.ros2.is_multicast(&socket) {
                continue;
            }
            let mut batches = 0;
            while batches < MAX_BATCHES && self.rtps_readable(&socket) {
                batches += 1;
            }
        }
        let is_all = !self.ros2.waits_for_loop();
        if is_all {
            self.ros2.reset_checks();
        }
        is_all
    }

    /// Takes the events of other threads' use of the participant.
    pub(super) fn take_ros2_events(&mut self) {
        if let Some(received_batch) = self.ros2.rtps.as_ref().and_then(|rtps| rtps.take_events()) {
            self.dispatch_rtps(received_batch, &[]);
        }
    }

    /// Handles the deadlines of the ROS 2 graph.
    pub(super) fn serve_ros2(&mut self, outcome: &mut PollOutcome) {
        let Some(rtps) = self.ros2.rtps.clone() else { return };
        // The reception time of the last datagram serves as the time.
        let now = self.ros2.received_at.take().unwrap_or_else(clock::monotonic);
        if rtps.deadline().is_some_and(|at| at <= now) {
            rtps.handle_timeout();
            self.sockets.joining.wake();
            outcome.had_work = true;
        }
        if rtps.wants_more() {
            self.ros2.grant_freed_capacity(&mut self.effects);
        }
        if rtps.take_service_messages_due() {
            self.ros2.take_service_messages();
        }
        if rtps.take_held_replies_due() {
            self.ros2.send_held_replies(&mut self.effects);
        }
        self.take_ros2_events();
        self.ros2.send_due_requests(&mut self.effects);
    }

    /// Handles an event. Those about pairs concern IPC connections and ROS 1 links, too.
    fn ros2_event(&mut self, event: Event) {
        let Self { ros2, effects, .. } = self;
        match event {
            Event::Matched { local, remote } => self.pair_matched(local, remote),
            Event::Unmatched { local, remote } => {
                self.remove_matched_pair(local, remote);
                // Shared memory may have brought replies of the server.
                self.ros2.take_service_messages();
                self.reader_unmatched(local, remote);
                self.ros2.unmatched(local, remote);
                self.ros2.service_unmatched(local, remote, &mut self.effects);
                self.end_unused_readers(&[local]);
            }
            Event::ParticipantLost(participant) => {
                let pairs = ros2.participant_lost(participant, effects);
                pairs.into_iter().for_each(|pair| self.lose_pair(pair));
            }
            Event::EndpointFound(endpoint) => {
                let moved = ros2.endpoint_found(endpoint, effects);
                moved.into_iter().for_each(|(local, remote)| self.pair_matched(local, remote));
            }
            Event::EndpointLost(endpoint) => {
                let readers = ros2.publisher_lost(endpoint);
                self.end_unused_readers(&readers);
            }
            other => ros2.on_event(other, effects),
        }
    }

    /// Handles a match. RTPS may report it again after a publisher has moved to this reader.
    fn pair_matched(&mut self, local: EntityId, remote: Guid) {
        let Self { ros2, effects, .. } = self;
        if ros2.is_linked(local, remote) {
            return;
        }
        ros2.matched(local, remote);
        ros2.add_matched_pair(local, remote, effects);
        ros2.service_matched(local, remote, effects);
        self.reader_matched(local, remote);
    }

    /// Ends those of these readers that belong to untyped subscriptions and receive no publisher any more. Publishers that
    /// found no free reader get one.
    fn end_unused_readers(&mut self, readers: &[EntityId]) {
        let unused = |reader: &&EntityId| self.ros2.forget_unused_reader(**reader);
        let unused: Vec<EntityId> = readers.iter().filter(unused).copied().collect();
        if unused.is_empty() {
            return;
        }
        self.end_endpoints(&unused);
        let moved = self.ros2.match_refused_publishers(&mut self.effects);
        moved.into_iter().for_each(|(local, remote)| self.pair_matched(local, remote));
    }

    /// Removes endpoints, after taking the samples of their pairs by shared memory.
    pub(in crate::driver) fn end_endpoints(&mut self, ids: &[EntityId]) {
        for id in ids {
            self.ros2.matched_with(*id).into_iter().for_each(|remote| self.remove_matched_pair(*id, remote));
            self.ros2.remove_endpoint(*id, &mut self.effects);
        }
    }
}
