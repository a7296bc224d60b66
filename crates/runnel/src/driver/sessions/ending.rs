//! How sessions end: their links go back to their connections, their pairs to RTPS, and the processes meet again.
//!
//! Each end reads what it still finds, tells the other that it has done so, and waits for the same from the other. What
//! is not read by then goes by the network, so that nothing is lost or comes twice although both ends live.
//!
//! The doorbell wakes the end that waits. A peer may have none any more, or not ring it: so each end also looks by itself,
//! after a millisecond, after twice that, and so on.

use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::{Entry, FIRST_PAUSE, LONGEST_PAUSE, Session, Sessions};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::Key;
use crate::ipc::{SessionFault, Unread};

/// How long the other end may take to read what it finds: it may be busy, and if it is dead, its links end with it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The pause before the first look whether the other end has read, doubled for each that follows.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// What a session that ends waits for: that the other end has read what it finds.
pub(super) struct Ending {
    /// Until when.
    pub(super) until: Instant,
    /// When that is looked at next, and the pause after it.
    look: Instant,
    pause: Duration,
}

impl Ending {
    fn new(now: Instant) -> Self {
        Self { until: now + PATIENCE, look: now + FIRST_LOOK, pause: FIRST_LOOK * 2 }
    }

    /// When something is to be done.
    fn deadline(&self) -> Instant {
        self.until.min(self.look)
    }

    /// True if the other end took too long; if not, it is looked at again later.
    fn is_late(&mut self, now: Instant) -> bool {
        if self.look <= now {
            self.look = now + self.pause;
            self.pause *= 2;
        }
        self.until <= now
    }
}

impl Sessions {
    /// A session whose peer sends by the network already.
    pub(in crate::driver) fn abandoned(&self) -> Option<Key> {
        self.standing.iter().copied().find(|session| self.has_peer_gone_on(*session))
    }

    fn has_peer_gone_on(&self, session: Key) -> bool {
        self.open.get(session).is_some_and(|open| open.receiver.peer_has_gone_on())
    }

    /// What is in the ring of such a session of streams, and of samples that come in pieces, and what it is of.
    pub(in crate::driver) fn abandoned_pieces(&self, session: Key) -> Vec<(Key, Vec<u8>)> {
        let Some(open) = self.open.get(session).filter(|_| self.has_peer_gone_on(session)) else {
            return Vec::new();
        };
        let pieces = open.receiver.continuations();
        pieces.filter_map(|(channel, bytes)| Some((open.link_of(channel)?, bytes))).collect()
    }

    /// Whether a session ends already.
    pub(in crate::driver) fn is_ending(&self, session: Key) -> bool {
        self.ending.contains(&session)
    }
}

impl Sessions {
    /// A session ends, of which all is heard that is to be: the other end is told, and waited for.
    pub(in crate::driver) fn begin_ending(
        &mut self,
        session: Key,
        why: Option<SessionFault>,
        effects: &mut Effects,
    ) {
        let Some(open) = self.open.get_mut(session).filter(|open| open.ending.is_none()) else { return };
        open.receiver.tell_last();
        open.sender.ring();
        let _ = open.packets.shutdown();
        let _ = self.reactor.remove(&*open.packets);
        let ending = open.ending.insert(Ending::new(clock::monotonic()));
        effects.schedule(Deadline::EndingSession(session), ending.deadline());
        let (process, socket, over) = (open.process, open.sockets[0], open.sender.is_over());
        self.standing.retain(|other| *other != session);
        self.ending.push(session);
        self.remove(socket);
        why.into_iter().for_each(|why| self.warn_of_end(why));
        // Whatever else the other end did, it may say what it has read; but if that was falsified, it says nothing.
        if over || !self.has_links_with(process) {
            self.go_on_without(session, effects);
        } else {
            self.end_if_read(session, effects);
        }
    }

    /// Ends a session for good if the peer has read what it found.
    pub(in crate::driver) fn end_if_read(&mut self, session: Key, effects: &mut Effects) {
        if self.open.get(session).is_some_and(|open| open.receiver.peer_has_read()) {
            self.go_on_without(session, effects);
        }
    }

    /// The last link with a process may be gone, and then nothing is left to wait for when its session ends.
    pub(super) fn hurry_ending(&mut self, process: u128, effects: &mut Effects) {
        let is_of = |open: &Session| open.process == process;
        let mut ending = self.ending.iter().copied();
        let Some(session) = ending.find(|session| self.open.get(*session).is_some_and(is_of)) else {
            return;
        };
        if !self.has_links_with(process)
            && let Some(ending) = self.open.get_mut(session).and_then(|open| open.ending.as_mut())
        {
            ending.until = clock::monotonic();
            effects.schedule(Deadline::EndingSession(session), ending.deadline());
        }
    }

    fn has_links_with(&self, process: u128) -> bool {
        self.met.values().any(|met| met.peer.process == process)
    }

    /// A session is over, and its links go back to their connections.
    fn go_on_without(&mut self, session: Key, effects: &mut Effects) {
        let Some(over) = self.open.remove(session) else { return };
        over.receiver.tell_gone_on();
        let (fault, mut unread) = over.sender.finish();
        self.ending.retain(|other| *other != session);
        effects.cancel(Deadline::EndingSession(session));
        self.peers.remove(&over.process);
        self.remove(over.sockets[1]);
        fault.into_iter().for_each(|why| self.warn_of_end(why));
        self.fall_back_to_rtps(&over, &mut unread);
        effects.push_back(Effect::SessionOver { sender: Arc::clone(&over.sender), unread });
        self.plan_to_meet_again(over.process, over.since, effects);
    }

    fn fall_back_to_rtps(&mut self, over: &Session, unread: &mut Unread) {
        for key in self.entries.keys() {
            if let Some(Entry::SampleOutput(output)) = self.entries.get(key) {
                output.publication.fall_back_to_rtps(output.pair(), &over.sender, unread);
            }
        }
    }

    /// Has a process met again with which there are links, after a session that stood since then, or never.
    pub(super) fn plan_to_meet_again(&mut self, process: u128, since: Instant, effects: &mut Effects) {
        if !self.has_links_with(process) || self.other_versions.has(process) {
            self.again.remove(&process);
            effects.cancel(Deadline::Process(process));
            return;
        }
        let now = clock::monotonic();
        let pause = match self.again.get(&process) {
            Some(pause) if now.since(since) < LONGEST_PAUSE => (*pause * 2).min(LONGEST_PAUSE),
            _ => FIRST_PAUSE,
        };
        self.again.insert(process, pause);
        effects.schedule(Deadline::Process(process), now + pause);
    }

    /// It is looked at whether the other end has read, and for how long yet.
    pub(in crate::driver) fn ending_due(&mut self, now: Instant, session: Key, effects: &mut Effects) {
        let ending = self.open.get_mut(session).and_then(|open| open.ending.as_mut());
        let Some(ending) = ending else { return };
        if ending.is_late(now) {
            return self.go_on_without(session, effects);
        }
        effects.schedule(Deadline::EndingSession(session), ending.deadline());
        self.end_if_read(session, effects);
    }

    /// A process is met again with which there are links.
    pub(in crate::driver) fn meet_again(&mut self, now: Instant, process: u128, effects: &mut Effects) {
        if !self.again.contains_key(&process) {
            return;
        }
        self.connect_process(process, effects);
        if !self.peers.contains_key(&process) {
            // It is the other that connects, or that cannot be found now.
            self.plan_to_meet_again(process, now, effects);
        }
    }
}
