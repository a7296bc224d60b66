//! The loop: the order in which the driver does things, and who is handed what.
//!
//! One turn is, in this order:
//!
//! 1. wait for the reactor, or for records in the rings of sessions, which are taken while it waits;
//! 2. each socket that is ready, in the order of the reactor, but those of RTPS last: a publisher of release 0.1.0 that is in both
//!    graphs sends by RTPS what follows its last message by ROS 1;
//! 3. host names that have been looked up;
//! 4. what is due: engines of ROS 1, listeners that paused, sessions;
//! 5. messages that arrive too slowly are given up;
//! 6. endpoints whose deadlines and leases are watched;
//! 7. the ROS 2 participant.
//!
//! After each step the driver settles: it does what has come of the step until nothing is left ([`Driver::settle`]). So does
//! a thread that has worked on the driver between turns, when it lets go.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{Events, Ready, clock};

use super::effect::Effect;
use super::sockets::Socket;
use super::table::Key;
use super::{Driver, LOOK, Turned};

impl Driver {
    /// Waits until `until` (for ever if `None`) for something to happen, and does what it calls for.
    pub(crate) fn turn(&mut self, until: Option<Instant>) -> io::Result<Turned> {
        let until = if until == Some(LOOK) { until } else { self.next_deadline(until) };
        let mut events = std::mem::take(&mut self.events);
        let waited = self.wait(&mut events, until);
        self.settle();
        let all_ready_at = self.sockets.all_ready_at(&events);
        let mut turned = Turned { served: matches!(waited, Ok(true)), woken: events.woken() };
        // What sessions brought.
        self.bound_incomplete_frames();
        let is_rtps = |ready: &Ready, driver: &Self| {
            matches!(driver.sockets.get(Key::from_bits(ready.token.0)), Some(Socket::Rtps(_)))
        };
        let passes = [false, true].into_iter().flat_map(|rtps| events.iter().map(move |ready| (rtps, ready)));
        for (of_rtps, ready) in passes {
            if is_rtps(&ready, self) != of_rtps {
                continue;
            }
            turned.served = true;
            let key = Key::from_bits(ready.token.0);
            if ready.readable {
                self.readable(key);
                self.settle();
                self.bound_incomplete_frames();
            }
            if ready.writable {
                self.writable(key);
                self.settle();
            }
        }
        self.events = events;
        self.sockets.finish_lookups(&mut self.effects);
        self.settle();
        self.serve_deadlines();
        self.sockets.check_incomplete_frames(all_ready_at, &mut self.effects);
        self.settle();
        self.serve_watches();
        self.serve_ros2(&mut turned);
        self.settle();
        waited.map(|_| turned)
    }

    /// Waits for the reactor until that time, and looks at the rings of sessions; true if these had something.
    fn wait(&mut self, events: &mut Events, until: Option<Instant>) -> io::Result<bool> {
        // Who only looks need not know the time.
        if until == Some(LOOK) {
            return self.wait_here(events, Some(Duration::ZERO));
        }
        let rtps = self.ros2.rtps().cloned();
        let sleeps = rtps.as_ref().is_none_or(|rtps| rtps.fall_asleep(until));
        let left = || until.map(|at| self.ros2.leisurely(at, at.since(clock::monotonic())));
        let waited = self.wait_here(events, if sleeps { left() } else { Some(Duration::ZERO) });
        if let Some(rtps) = rtps {
            rtps.wake_up();
        }
        waited
    }

    fn wait_here(&mut self, events: &mut Events, wait: Option<Duration>) -> io::Result<bool> {
        if self.sessions.is_empty() {
            return self.sockets.reactor.wait(events, wait).map(|()| false);
        }
        let mut heard = self.look_at_sessions();
        let sleeps = !heard && wait != Some(Duration::ZERO);
        if sleeps {
            self.sessions.fall_asleep();
            heard = self.look_at_sessions();
        }
        let waited = if heard && self.sessions.passes_over_reactor() {
            events.clear();
            Ok(())
        } else {
            let wait = if heard { Some(Duration::ZERO) } else { self.sessions.no_longer_than_patience(wait) };
            self.sockets.reactor.wait(events, wait)
        };
        if sleeps {
            self.sessions.wake_up();
        }
        waited.map(|()| heard)
    }

    /// When something is to be done, at the latest then.
    fn next_deadline(&self, until: Option<Instant>) -> Option<Instant> {
        let (ros1, ros2, sockets) = (self.ros1.deadline(), self.ros2.deadline(), self.sockets.deadline());
        [until, ros1, ros2, sockets, self.sessions.deadline(), self.watches.next()]
            .into_iter()
            .flatten()
            .min()
    }

    fn serve_deadlines(&mut self) {
        let deadlines = [self.ros1.deadline(), self.sockets.resumes_at(), self.sessions.deadline()];
        if deadlines.iter().all(Option::is_none) {
            return;
        }
        let now = clock::monotonic();
        self.ros1.handle_timeout(now);
        self.settle();
        self.sockets.resume_accepting(now);
        self.serve_sessions(now);
        self.settle();
    }

    pub(super) fn readable(&mut self, key: Key) {
        match self.sockets.get(key) {
            Some(Socket::PacketListener(_)) => self.packets_accepted(key),
            Some(Socket::Greeting(_)) => self.greeting_readable(key),
            Some(Socket::Session(session)) => self.session_readable(*session),
            Some(Socket::Bell(session)) => self.bell_rang(*session),
            Some(Socket::OwnBell { .. }) => self.own_bell_rang(),
            Some(Socket::Rtps(socket)) => {
                let socket = Arc::clone(socket);
                self.rtps_readable(&socket);
            }
            Some(Socket::Interfaces(_)) => self.interfaces_readable(key),
            _ => {
                let Some(received) = self.sockets.readable(key, &mut self.effects) else { return };
                let Self { sockets, ros1, .. } = self;
                ros1.with(received.engine, |engine, now| {
                    engine.verbs().handle_data(now, received.conn, sockets.bytes(&received));
                });
            }
        }
    }

    pub(super) fn writable(&mut self, key: Key) {
        self.sockets.writable(key, &mut self.effects);
    }

    fn bound_incomplete_frames(&mut self) {
        self.sockets.bound_incomplete_frames(&mut self.effects);
        self.settle();
    }

    /// Does what components want of one another, and what engines say, until nothing is left.
    pub(crate) fn settle(&mut self) {
        loop {
            while let Some(effect) = self.effects.pop_front() {
                self.apply(effect);
            }
            let Some((engine, saying)) = self.ros1.poll() else { break };
            self.said(engine, saying);
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
            Effect::PublisherUntold { key } => self.settle_link(key),
            Effect::LinkShared { key } => self.share_changed(key),
            Effect::LinkUnshared { origin, pairs } => self.link_unshared(origin, &pairs),
            Effect::PeerTrouble { engine, peer, why } => self.peer_trouble(engine, &peer, &why),
            Effect::Parted { key, peer } => self.part(key, peer),
            Effect::NodeTrouble { node, line } => {
                self.nodes
                    .get_mut(node)
                    .into_iter()
                    .for_each(|node| node.warn_of_peer(format_args!("{line}")));
            }
            // All that has changed is told at once.
            Effect::NodesChanged if self.effects.iter().any(Effect::is_nodes_changed) => {}
            Effect::NodesChanged => self.ros2.tell_of_nodes(&self.nodes),
            Effect::ParticipantWorked => self.take_ros2_events(),
            Effect::ReaderMade { reader } => self.begin_room(reader),
            Effect::Answered { engine, link, answer } => self.call_ended(engine, link, answer),
        }
    }

    /// The connection of a link has ended. What came by another way before that counts.
    pub(super) fn link_ended(&mut self, key: Key, why: Option<String>) {
        self.hear_the_rest(key);
        self.sockets.finish(key, why, &mut self.effects);
    }
}
