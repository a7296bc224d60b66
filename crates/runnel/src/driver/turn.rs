//! The loop: the order in which the driver does things, and who is handed what.
//!
//! One turn is, in this order:
//!
//! 1. wait for the reactor, or for records in the rings of sessions, which are taken while it waits;
//! 2. each socket that is ready, in the order of the reactor: those of RTPS last, and of them those last by which participants
//!    announce themselves ([`ReadOrder`]);
//! 3. host names that have been looked up, by threads that wake the loop;
//! 4. what is [due](Deadline), in the order of the deadlines; messages that arrive too slowly are given up then, after all that
//!    had come was read;
//! 5. the ROS 2 participant;
//! 6. links that wait to begin until discovery has delivered the readers of their nodes.
//!
//! After each step the driver settles: it does what has come of the step until nothing is left ([`Driver::settle`]). So does
//! a thread that has worked on the driver between turns, when it lets go.

mod ending;
mod engines;
mod joins;
mod pairs;
mod records;
mod refused;
mod rtps;
mod waiting;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{Events, clock};

use super::effect::{Deadline, Effect};
use super::sessions::Readable;
use super::sockets::Socket;
use super::table::{Key, Owner};
use super::{Driver, LOOK, Turned};

/// When a socket that is ready has its turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReadOrder {
    /// Before those of RTPS: a publisher of release 0.1.0 that is in both graphs sends by RTPS what follows its last message by
    /// ROS 1.
    First,
    /// Before announcements, which anybody can send in great numbers.
    UserData,
    /// Announcements of participants alone.
    Announcements,
}

impl Driver {
    /// Waits until `until` (for ever if `None`) for something to happen, and does what it calls for.
    pub(crate) fn turn(&mut self, until: Option<Instant>) -> io::Result<Turned> {
        let until = if until == Some(LOOK) { until } else { self.next_deadline(until) };
        let mut events = std::mem::take(&mut self.events);
        let waited = self.wait(&mut events, until);
        self.ros2.begin_turn();
        let all_ready_at = self.sockets.all_ready_at(&events);
        let mut turned = Turned { served: matches!(waited, Ok(true)), woken: events.woken() };
        // Of what sessions brought.
        self.sockets.bound_incomplete_frames(&mut self.effects);
        self.settle();
        let mut order = Some(ReadOrder::First);
        while let Some(now) = order {
            order = self.serve_ready(&events, now, &mut turned);
        }
        self.events = events;
        if turned.woken {
            self.sockets.finish_lookups(&mut self.effects);
            self.settle();
        }
        self.serve_deadlines(all_ready_at);
        self.serve_ros2(&mut turned);
        self.settle();
        self.resume_joining();
        waited.map(|_| turned)
    }

    /// Does what ready sockets of this order call for. The order that is next, if sockets of it are ready.
    fn serve_ready(&mut self, events: &Events, order: ReadOrder, turned: &mut Turned) -> Option<ReadOrder> {
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
            turned.served = true;
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
            Some(Socket::Rtps(socket)) if self.ros2.hears_groups(socket) => ReadOrder::Announcements,
            Some(Socket::Rtps(_)) => ReadOrder::UserData,
            _ => ReadOrder::First,
        }
    }

    /// Waits for the reactor until that time, and looks at the rings of sessions; true if these had something.
    fn wait(&mut self, events: &mut Events, until: Option<Instant>) -> io::Result<bool> {
        // Who only looks need not know the time.
        if until == Some(LOOK) {
            return self.wait_here(events, Some(Duration::ZERO));
        }
        let rtps = self.ros2.rtps.clone();
        let sleeps = rtps.as_ref().is_none_or(|rtps| rtps.fall_asleep(until));
        let left = || until.map(|at| self.ros2.leisurely(at, at.since(clock::monotonic())));
        let waited = self.wait_here(events, if sleeps { left() } else { Some(Duration::ZERO) });
        if let Some(rtps) = rtps {
            rtps.wake_up();
        }
        waited
    }

    fn wait_here(&mut self, events: &mut Events, wait: Option<Duration>) -> io::Result<bool> {
        if self.sessions.standing.is_empty() {
            return self.sockets.reactor.wait(events, wait).map(|()| false);
        }
        // What has come of that is done before the wait.
        let mut heard = self.poll_sessions() || !self.effects.queue.is_empty();
        let sleeps = !heard && wait != Some(Duration::ZERO);
        if sleeps {
            self.sessions.fall_asleep();
            heard = self.poll_sessions() || !self.effects.queue.is_empty();
        }
        let waited = if heard && self.sessions.passes_over_reactor() {
            events.clear();
            Ok(())
        } else {
            self.sockets.reactor.wait(events, if heard { Some(Duration::ZERO) } else { wait })
        };
        if sleeps {
            self.sessions.wake_up();
        }
        waited.map(|()| heard)
    }

    /// When something is to be done, at the latest then.
    fn next_deadline(&self, until: Option<Instant>) -> Option<Instant> {
        [until, self.effects.deadlines.next_deadline(), self.ros2.deadline()].into_iter().flatten().min()
    }

    /// Does what is due. By `all_ready_at` bytes had to come to be read in this turn, if it read every socket.
    fn serve_deadlines(&mut self, all_ready_at: Option<Instant>) {
        let Some(first) = self.effects.deadlines.next_deadline() else { return };
        let now = clock::monotonic();
        if first > now {
            return;
        }
        for deadline in self.effects.deadlines.take_due(now) {
            self.meet_deadline(deadline, now, all_ready_at);
            self.settle();
        }
    }

    fn meet_deadline(&mut self, deadline: Deadline, now: Instant, all_ready_at: Option<Instant>) {
        match deadline {
            Deadline::Engine(engine) => self.ros1.handle_timeout(engine),
            Deadline::Accept => self.sockets.resume_accepting(),
            Deadline::IncompleteFrames => {
                self.sockets.check_incomplete_frames(all_ready_at, &mut self.effects);
            }
            Deadline::AcceptProcesses => self.sessions.resume_accepting(),
            // Sessions are looked at before the next wait.
            Deadline::LateLinks => {}
            // So are these when the turn ends.
            Deadline::JoiningSubscribers => self.sockets.joining.wake(),
            Deadline::EndingSession(session) => self.sessions.ending_due(now, session, &mut self.effects),
            Deadline::Process(process) => self.sessions.meet_again(now, process, &mut self.effects),
            Deadline::Greeting(key) => self.sessions.greeting_due(key, &mut self.effects),
            Deadline::WatchedEndpoint(number) => self.watches.look(number, now, &mut self.effects),
            Deadline::Neighbour(participant) => {
                if let Some(process) = self.sessions.own_process() {
                    self.ros2.tell_neighbour(participant, process, now, &mut self.effects);
                }
            }
            Deadline::Complaints => self.ros2.say_what_is_due(now, &mut self.effects),
        }
    }

    pub(super) fn readable(&mut self, key: Key) {
        if let Owner::Sessions = key.owner() {
            return self.sessions_readable(key);
        }
        match self.sockets.get(key) {
            Some(Socket::Rtps(socket)) => {
                let socket = Arc::clone(socket);
                self.rtps_readable(&socket);
            }
            Some(Socket::Interfaces(changes)) => {
                if changes.any().unwrap_or(true) {
                    self.ros2.look_at_interfaces(&mut self.effects);
                }
            }
            _ => {
                let Some(received) = self.sockets.readable(key, &mut self.effects) else { return };
                let Self { sockets, ros1, .. } = self;
                ros1.with(received.engine, |engine, now| {
                    engine.verbs().handle_data(now, received.conn, sockets.bytes(&received));
                });
            }
        }
    }

    fn sessions_readable(&mut self, key: Key) {
        match self.sessions.readable(key, &mut self.effects) {
            Some(Readable::Bell(session)) => self.bell_rang(session),
            Some(Readable::Socket(session)) => self.session_readable(session),
            // Some thread has found room for links that wait.
            Some(Readable::OwnBell) => {
                self.sessions.standing.clone().into_iter().for_each(|session| self.bell_rang(session));
            }
            None => {}
        }
    }

    pub(super) fn writable(&mut self, key: Key) {
        match key.owner() {
            Owner::Sockets => self.sockets.writable(key, &mut self.effects),
            Owner::Sessions => self.sessions.writable(key),
        }
    }

    /// Does what components want of one another, and what engines say, until nothing is left.
    #[inline]
    pub(crate) fn settle(&mut self) {
        // Of most messages nothing comes.
        if !(self.effects.queue.is_empty() && self.ros1.unserved.is_empty()) {
            self.apply_effects();
        }
    }

    #[inline(never)]
    fn apply_effects(&mut self) {
        loop {
            while let Some(effect) = self.effects.queue.pop_front() {
                self.apply(effect);
            }
            if self.ros1.unserved.is_empty() {
                break;
            }
            if let Some((engine, saying)) = self.ros1.poll(&mut self.effects) {
                self.said(engine, saying);
            }
        }
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Accepted { engine, port, stream, peer } => {
                let named = self.with_engine(engine, |of, now| of.verbs().handle_accepted(now, port, peer));
                if let Some(conn) = named.flatten() {
                    self.sockets.add_accepted((engine, conn), stream, peer, &mut self.effects);
                }
            }
            Effect::Connected { engine, conn } => {
                self.with_engine(engine, |engine, now| engine.verbs().handle_connected(now, conn));
            }
            Effect::Bound { engine, conn, port } => {
                self.with_engine(engine, |engine, now| {
                    engine.as_node().map(|node| node.handle_bound(now, conn, port))
                });
            }
            Effect::Closed { engine, conn, why } => {
                self.with_engine(engine, |engine, now| {
                    engine.verbs().handle_closed(now, conn, why.as_deref());
                });
            }
            Effect::Unresolved { engine, conn, why } => {
                self.with_engine(engine, |engine, now| engine.verbs().handle_unresolved(now, conn, &why));
            }
            Effect::LinkEnded { key, why } => self.link_ended(key, why),
            Effect::SubscriberJoined(joining) => self.go_on_joining(joining),
            Effect::Misbehaved { link, why } => {
                self.sockets.misbehaved(link, why.to_owned(), &mut self.effects)
            }
            Effect::PublisherUntold { key } => self.tell_publisher(key),
            Effect::LinkShared { key } => self.share_changed(key),
            Effect::LinkUnshared { node, pairs } => self.link_unshared(node, &pairs),
            Effect::PeerFault { engine, peer, why } => self.peer_trouble(engine, &peer, &why),
            Effect::Parted { key } => self.sessions.part(key, &mut self.effects),
            Effect::BellRang { session } => self.bell_rang(session),
            Effect::AskPublisher { session, link } => {
                if let Some(reached) = self.sockets.reached(link) {
                    self.sessions.ask_publisher(session, link, &reached);
                }
            }
            Effect::SwitchPath { session, link, token } => self.switch_path(session, link, token),
            Effect::SessionOver { sender, unread } => {
                self.sockets.fall_back(&sender, unread, &mut self.effects);
            }
            Effect::NodeTrouble { node, line } => {
                self.nodes
                    .get_mut(node)
                    .into_iter()
                    .for_each(|node| node.warn_of_peer(format_args!("{line}")));
            }
            // All that has changed is told at once.
            Effect::NodesChanged if self.effects.queue.iter().any(Effect::is_nodes_changed) => {}
            Effect::NodesChanged => self.ros2.tell_of_nodes(&self.nodes),
            Effect::PairsEnded => self.end_pairs(),
            Effect::SamplesRefused => self.read_ended_links(),
            // The ends of links that were read come first.
            Effect::EndedLinksRead if self.effects.queue.iter().any(Effect::is_of_ended_link) => {
                self.effects.push_back(Effect::EndedLinksRead);
            }
            Effect::EndedLinksRead => self.dispatch_refused(),
            Effect::ParticipantWorked => self.take_ros2_events(),
            Effect::ReaderMade { reader } => self.ros2.begin_room(reader, &mut self.effects),
            Effect::PairKnown { local, remote } => self.join_pair(local, remote, None),
            Effect::PublisherRenamed { pair, named } => self.sessions.rename_publisher(pair, named),
            Effect::NeighbourAsks { participant } => {
                if let Some(process) = self.sessions.own_process() {
                    self.ros2.answer_neighbour(participant, process);
                }
            }
            Effect::NeighbourChanged { participant } => self.neighbour_changed(participant),
            Effect::DeliverPair { pair } => self.deliver_pair(pair),
            Effect::TakeHeld { reader } => self.take_held(reader),
            Effect::Answered { engine, link, answer } => self.call_ended(engine, link, answer),
        }
    }

    fn switch_path(&mut self, session: Key, link: Key, token: u128) {
        let Some(sender) = self.sessions.sender(session) else { return };
        if !self.sockets.switch_path(link, &sender, token, &mut self.effects) {
            self.sessions.go_over_later(session, token);
        }
    }

    /// The connection of a link has ended. What came by another way before that counts.
    pub(super) fn link_ended(&mut self, key: Key, why: Option<String>) {
        self.drain_session_of(key);
        self.settle_returned(key);
        self.sockets.finish(key, why, &mut self.effects);
    }
}
