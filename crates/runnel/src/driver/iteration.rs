//! One iteration of the event loop: the order of the driver's work, and the dispatch of effects.
//!
//! One iteration:
//!
//! 1. Wait for the reactor or for records of IPC connections. Records are taken while it waits.
//! 2. Read each ready socket, in the order of the reactor. Sockets of RTPS come last, and of these the ones that receive
//!    announcements of participants ([`ReadOrder`]).
//! 3. Take host names that have been resolved by threads, which wake the loop.
//! 4. Handle due [deadlines](Deadline) in their order. Messages that arrive too slowly are given up only now, after everything
//!    that has arrived was read.
//! 5. Handle the deadlines and events of the ROS 2 participant.
//! 6. Begin links that waited until discovery had delivered the readers of their nodes.
//!
//! After each step the driver settles: it applies effects until none is left ([`Driver::settle`]). A thread that has used the
//! driver between iterations does so before it releases the lock.

mod engines;
mod joins;
mod pairs;
mod records;
mod refused;
mod rtps;
mod teardown;
#[cfg(test)]
mod tests;
mod waiting_streams;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{Events, clock};

use super::effect::{Deadline, Effect};
use super::ipc_connections::Readable;
use super::sockets::Socket;
use super::table::{Key, Owner};
use super::{Driver, NO_WAIT, PollOutcome};
use crate::data::SwitchOutcome;

/// Order in which ready sockets are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReadOrder {
    /// Before those of RTPS: a publisher of release 0.1.0 in both graphs continues by RTPS after its last message by
    /// ROS 1.
    First,
    /// Before announcements, which anyone can send in large numbers.
    UserData,
    /// Only announcements of participants.
    Announcements,
}

impl Driver {
    /// Runs one iteration of the event loop. Waits for input until `until`, without limit if it is `None`.
    pub(crate) fn poll_once(&mut self, until: Option<Instant>) -> io::Result<PollOutcome> {
        let until = if until == Some(NO_WAIT) { until } else { self.next_deadline(until) };
        let mut events = std::mem::take(&mut self.events);
        let waited = self.wait(&mut events, until);
        self.ros2.begin_iteration();
        let all_ready_at = self.sockets.all_ready_at(&events);
        let mut outcome = PollOutcome { had_work: matches!(waited, Ok(true)), woken: events.woken() };
        // For messages of IPC connections.
        self.sockets.bound_incomplete_frames(&mut self.effects);
        self.settle();
        let mut order = Some(ReadOrder::First);
        while let Some(now) = order {
            order = self.serve_ready(&events, now, &mut outcome);
        }
        self.events = events;
        if outcome.woken {
            self.sockets.finish_lookups(&mut self.effects);
            self.settle();
        }
        outcome.had_work |= self.handle_deadlines(all_ready_at);
        self.serve_ros2(&mut outcome);
        self.settle();
        outcome.had_work |= self.resume_joining();
        waited.map(|_| outcome)
    }

    /// Serves ready sockets of this order. Returns the next order that has ready sockets.
    fn serve_ready(
        &mut self,
        events: &Events,
        order: ReadOrder,
        outcome: &mut PollOutcome,
    ) -> Option<ReadOrder> {
        let mut next = None;
        for ready in events.iter() {
            let key = Key::from_bits(ready.token.0);
            let its = self.read_order(key);
            if its > order {
                next = Some(next.map_or(its, |next: ReadOrder| next.min(its)));
            }
            if its != order {
                continue;
            }
            outcome.had_work = true;
            if ready.readable {
                self.readable(key);
                self.sockets.bound_incomplete_frames(&mut self.effects);
                self.settle();
            }
            if ready.writable {
                self.writable(key);
                self.settle();
            }
        }
        next
    }

    fn read_order(&self, key: Key) -> ReadOrder {
        match self.sockets.get(key) {
            Some(Socket::Rtps(socket)) if self.ros2.is_multicast(socket) => ReadOrder::Announcements,
            Some(Socket::Rtps(_)) => ReadOrder::UserData,
            _ => ReadOrder::First,
        }
    }

    /// Waits for the reactor until that time, and takes records of IPC connections; true if there were any.
    fn wait(&mut self, events: &mut Events, until: Option<Instant>) -> io::Result<bool> {
        // Without a wait, the time is not needed.
        if until == Some(NO_WAIT) {
            return self.wait_once(events, Some(Duration::ZERO));
        }
        let rtps = self.ros2.rtps.clone();
        let sleeps = rtps.as_ref().is_none_or(|rtps| rtps.fall_asleep(until));
        let left = || until.map(|at| self.ros2.round_up_wait(at, at.since(clock::monotonic())));
        let waited = self.wait_once(events, if sleeps { left() } else { Some(Duration::ZERO) });
        if let Some(rtps) = rtps {
            rtps.wake_up();
        }
        waited
    }

    fn wait_once(&mut self, events: &mut Events, wait: Option<Duration>) -> io::Result<bool> {
        if self.ipc_connections.established.is_empty() {
            return self.sockets.reactor.wait(events, wait).map(|()| false);
        }
        // Effects of these records come before the wait.
        let mut had_records = self.poll_ipc_connections() || !self.effects.queue.is_empty();
        let sleeps = !had_records && wait != Some(Duration::ZERO);
        if sleeps {
            self.ipc_connections.fall_asleep();
            had_records = self.poll_ipc_connections() || !self.effects.queue.is_empty();
        }
        let waited = if had_records && self.ipc_connections.skips_reactor() {
            events.clear();
            Ok(())
        } else {
            self.sockets.reactor.wait(events, if had_records { Some(Duration::ZERO) } else { wait })
        };
        if sleeps {
            self.ipc_connections.wake_up();
        }
        waited.map(|()| had_records)
    }

    /// The earliest of `until` and all deadlines.
    fn next_deadline(&self, until: Option<Instant>) -> Option<Instant> {
        [until, self.effects.deadlines.next_deadline(), self.ros2.deadline()].into_iter().flatten().min()
    }

    /// Handles due deadlines. If this iteration read all sockets, it read everything that had arrived by
    /// `all_ready_at`. Returns whether there were any.
    fn handle_deadlines(&mut self, all_ready_at: Option<Instant>) -> bool {
        let Some(first) = self.effects.deadlines.next_deadline() else { return false };
        let now = clock::monotonic();
        if first > now {
            return false;
        }
        for deadline in self.effects.deadlines.take_due(now) {
            self.handle_deadline(deadline, now, all_ready_at);
            self.settle();
        }
        true
    }

    fn handle_deadline(&mut self, deadline: Deadline, now: Instant, all_ready_at: Option<Instant>) {
        match deadline {
            Deadline::Engine(engine) => self.ros1.handle_timeout(engine),
            Deadline::Accept => self.sockets.resume_accepting(),
            Deadline::IncompleteFrames => {
                self.sockets.check_incomplete_frames(all_ready_at, &mut self.effects);
            }
            Deadline::AcceptProcesses => self.ipc_connections.resume_accepting(),
            // They are checked before the next wait.
            Deadline::WaitingStreams => {}
            // They are checked at the end of the iteration.
            Deadline::JoiningSubscribers => self.sockets.joining.wake(),
            Deadline::IpcTeardown(ipc_connection) => {
                self.ipc_connections.teardown_due(now, ipc_connection, &mut self.effects)
            }
            Deadline::Process(process) => self.ipc_connections.reconnect(now, process, &mut self.effects),
            Deadline::Handshake(key) => self.ipc_connections.handshake_timed_out(key, &mut self.effects),
            Deadline::MonitoredEndpoint(number) => {
                self.monitored_endpoints.check(number, now, &mut self.effects)
            }
            Deadline::LocalPeer(participant) => {
                if let Some(process) = self.ipc_connections.own_process() {
                    self.ros2.announce_to_local_peer(participant, process, now, &mut self.effects);
                }
            }
            Deadline::ServiceCalls => self.ros2.check_calls(now, &mut self.effects),
            Deadline::AbsentClients => self.ros2.forget_absent_clients(now, &mut self.effects),
            Deadline::HeldReplies => self.ros2.send_held_replies(&mut self.effects),
            Deadline::Diagnostics => self.ros2.log_due_diagnostics(now, &mut self.effects),
        }
    }

    pub(super) fn readable(&mut self, key: Key) {
        if let Owner::IpcConnections = key.owner() {
            return self.ipc_readable(key);
        }
        match self.sockets.get(key) {
            Some(Socket::Rtps(socket)) => {
                let socket = Arc::clone(socket);
                self.rtps_readable(&socket);
            }
            Some(Socket::Interfaces(changes)) => {
                if changes.any().unwrap_or(true) {
                    self.ros2.check_interfaces(&mut self.effects);
                }
            }
            _ => {
                let Some(received) = self.sockets.readable(key, &mut self.effects) else { return };
                let Self { sockets, ros1, .. } = self;
                ros1.with(received.engine, |engine, now| {
                    engine.protocol().handle_data(now, received.conn, sockets.bytes(&received));
                });
            }
        }
    }

    fn ipc_readable(&mut self, key: Key) {
        match self.ipc_connections.readable(key, &mut self.effects) {
            Some(Readable::Doorbell(ipc_connection)) => self.doorbell_rang(ipc_connection),
            Some(Readable::Socket(ipc_connection)) => self.ipc_socket_readable(ipc_connection),
            // A thread has found space in a ring for links that wait.
            Some(Readable::OwnDoorbell) => {
                self.ipc_connections
                    .established
                    .clone()
                    .into_iter()
                    .for_each(|ipc_connection| self.doorbell_rang(ipc_connection));
            }
            None => {}
        }
    }

    pub(super) fn writable(&mut self, key: Key) {
        match key.owner() {
            Owner::Sockets => self.sockets.writable(key, &mut self.effects),
            Owner::IpcConnections => self.ipc_connections.writable(key),
        }
    }

    /// Applies effects and polls engines until neither is left. True if there were any.
    #[inline]
    pub(crate) fn settle(&mut self) -> bool {
        // Most messages have no effects.
        let has_effects = !(self.effects.queue.is_empty() && self.ros1.unpolled.is_empty());
        if has_effects {
            self.apply_effects();
        }
        has_effects
    }

    #[inline(never)]
    fn apply_effects(&mut self) {
        loop {
            while let Some(effect) = self.effects.queue.pop_front() {
                self.apply(effect);
            }
            if self.ros1.unpolled.is_empty() {
                break;
            }
            if let Some((engine, output)) = self.ros1.poll(&mut self.effects) {
                self.apply_engine_output(engine, output);
            }
        }
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Accepted { engine, port, stream, peer } => {
                let named =
                    self.with_engine(engine, |of, now| of.protocol().handle_accepted(now, port, peer));
                if let Some(conn) = named.flatten() {
                    self.sockets.add_accepted((engine, conn), stream, peer, &mut self.effects);
                }
            }
            Effect::Connected { engine, conn } => {
                self.with_engine(engine, |engine, now| engine.protocol().handle_connected(now, conn));
            }
            Effect::Bound { engine, conn, port } => {
                self.with_engine(engine, |engine, now| {
                    engine.as_node().map(|node| node.handle_bound(now, conn, port))
                });
            }
            Effect::Closed { engine, conn, why } => {
                self.with_engine(engine, |engine, now| {
                    engine.protocol().handle_closed(now, conn, why.as_deref());
                });
            }
            Effect::Unresolved { engine, conn, why } => {
                self.with_engine(engine, |engine, now| engine.protocol().handle_unresolved(now, conn, &why));
            }
            Effect::LinkEnded { key, why } => self.link_ended(key, why),
            Effect::SubscriberJoined(joining) => self.continue_joining(joining),
            Effect::Misbehaved { link, why } => {
                self.sockets.misbehaved(link, why.to_owned(), &mut self.effects)
            }
            Effect::PublisherReportDue { key } => self.report_to_publisher(key),
            Effect::LinkShareChanged { key } => self.link_share_changed(key),
            Effect::SharedLinkEnded { dual_node_id, followed } => {
                self.shared_link_ended(dual_node_id, &followed);
            }
            Effect::PeerFault { engine, peer, why } => self.log_peer_fault(engine, &peer, &why),
            Effect::LocalLinkClosed { key } => self.ipc_connections.remove_local_link(key, &mut self.effects),
            Effect::DoorbellRang { ipc_connection } => self.doorbell_rang(ipc_connection),
            Effect::RequestFromPublisher { ipc_connection, link } => {
                if let Some(reached) = self.sockets.reached(link) {
                    self.ipc_connections.request_from_publisher(ipc_connection, link, &reached);
                }
            }
            Effect::SwitchPath { ipc_connection, link, token } => {
                self.switch_path(ipc_connection, link, token)
            }
            Effect::IpcConnectionClosed { sender } => {
                self.sockets.fall_back(&sender, &mut self.effects);
                self.ros2.recheck_calls(&mut self.effects);
            }
            Effect::NodeWarning { node, line } => {
                self.nodes
                    .get_mut(node)
                    .into_iter()
                    .for_each(|node| node.warn_of_peer(format_args!("{line}")));
            }
            // Later changes are part of the same announcement.
            Effect::NodesChanged if self.effects.queue.iter().any(Effect::is_nodes_changed) => {}
            Effect::NodesChanged => self.ros2.announce_nodes(&self.nodes),
            Effect::PairsEnded => self.end_pairs(),
            Effect::SamplesRefused => self.read_ended_links(),
            // The ends of the links that were read come first.
            Effect::EndedLinksRead if self.effects.queue.iter().any(Effect::is_of_ended_link) => {
                self.effects.push_back(Effect::EndedLinksRead);
            }
            Effect::EndedLinksRead => self.dispatch_refused(),
            Effect::ParticipantUsed => self.take_ros2_events(),
            Effect::ReaderCreated { reader } => self.ros2.set_initial_capacity(reader, &mut self.effects),
            Effect::PairMatched { local, remote } => self.join_pair(local, remote, None),
            Effect::PublisherRenamed { pair, named } => self.ipc_connections.rename_publisher(pair, named),
            Effect::LocalPeerAsks { participant } => {
                if let Some(process) = self.ipc_connections.own_process() {
                    self.ros2.answer_local_peer(participant, process);
                }
            }
            Effect::LocalPeerChanged { participant } => self.local_peer_changed(participant),
            Effect::DeliverPair { pair } => self.deliver_pair(pair),
            Effect::TakeHeld { reader } => self.take_held(reader),
            Effect::Answered { engine, link, answer } => self.call_ended(engine, link, answer),
        }
    }

    fn switch_path(&mut self, ipc_connection: Key, link: Key, token: u128) {
        let Some(sender) = self.ipc_connections.sender(ipc_connection) else { return };
        if self.sockets.switch_path(link, &sender, token, &mut self.effects) == SwitchOutcome::Later {
            self.ipc_connections.defer_switch(ipc_connection, token);
        }
    }

    /// Handles the end of a link's connection. Messages that arrived before by shared memory count.
    pub(super) fn link_ended(&mut self, key: Key, why: Option<String>) {
        self.drain_ipc_connection_of(key);
        self.settle_returned(key);
        self.sockets.finish(key, why, &mut self.effects);
    }
}
