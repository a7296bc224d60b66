//! Teardown of IPC connections: links fall back to their own connections, pairs to RTPS, and the processes connect
//! again.
//!
//! Each end reads the rest of its ring, informs the other end, and waits for the other end to do the same. Unread
//! messages go by the network. So nothing is lost or doubled as long as both processes live.
//!
//! The doorbell wakes the end that waits. A peer may have lost it or not ring it. So each end also checks by itself,
//! after one millisecond, then after twice as long each time.

use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::{Entry, FIRST_PAUSE, IpcConnection, IpcConnections, LONGEST_PAUSE};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::Key;
use crate::ipc::IpcFault;

/// Maximum wait for the peer to read its ring. It may be busy. If it is dead, its links end with it.
const TEARDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Pause before the first check whether the peer has read its ring. It doubles with each check.
const FIRST_CHECK: Duration = Duration::from_millis(1);

/// State of a teardown: the wait until the peer has read its ring.
pub(super) struct Teardown {
    /// End of the wait.
    pub(super) until: Instant,
    /// Time of the next check, and the pause after it.
    next_check: Instant,
    pause: Duration,
}

impl Teardown {
    fn new(now: Instant) -> Self {
        Self { until: now + TEARDOWN_TIMEOUT, next_check: now + FIRST_CHECK, pause: FIRST_CHECK * 2 }
    }

    /// Time of the next check or the end of the wait.
    fn deadline(&self) -> Instant {
        self.until.min(self.next_check)
    }

    /// Whether the wait is over. If not, schedules the next check.
    fn has_timed_out(&mut self, now: Instant) -> bool {
        if self.next_check <= now {
            self.next_check = now + self.pause;
            self.pause *= 2;
        }
        self.until <= now
    }
}

impl IpcConnections {
    /// An IPC connection whose peer already sends by the network.
    pub(in crate::driver) fn ipc_connection_abandoned_by_peer(&self) -> Option<Key> {
        self.established.iter().copied().find(|ipc_connection| self.is_abandoned_by_peer(*ipc_connection))
    }

    fn is_abandoned_by_peer(&self, ipc_connection: Key) -> bool {
        self.open.get(ipc_connection).is_some_and(|open| open.receiver.is_peer_on_network())
    }

    /// Unread pieces of streams, and of samples in pieces, in the ring of such an IPC connection.
    pub(in crate::driver) fn unread_pieces(&self, ipc_connection: Key) -> Vec<(Key, Vec<u8>)> {
        let Some(open) = self.open.get(ipc_connection).filter(|_| self.is_abandoned_by_peer(ipc_connection))
        else {
            return Vec::new();
        };
        let pieces = open.receiver.continuations();
        pieces.filter_map(|(channel, bytes)| Some((open.link_of(channel)?, bytes))).collect()
    }

    /// Whether an IPC connection is in teardown.
    pub(in crate::driver) fn is_closing(&self, ipc_connection: Key) -> bool {
        self.closing.contains(&ipc_connection)
    }
}

impl IpcConnections {
    /// Begins teardown once everything has been received: informs the peer and waits for it.
    pub(in crate::driver) fn begin_teardown(
        &mut self,
        ipc_connection: Key,
        why: Option<IpcFault>,
        effects: &mut Effects,
    ) {
        let Some(open) = self.open.get_mut(ipc_connection).filter(|open| open.teardown.is_none()) else {
            return;
        };
        open.receiver.report_final_position();
        open.sender.ring();
        let _ = open.packets.shutdown();
        let _ = self.reactor.remove(&*open.packets);
        let teardown = open.teardown.insert(Teardown::new(clock::monotonic()));
        effects.schedule(Deadline::IpcTeardown(ipc_connection), teardown.deadline());
        let (process, socket, closed) = (open.process, open.sockets[0], open.sender.is_over());
        self.established.retain(|other| *other != ipc_connection);
        self.closing.push(ipc_connection);
        self.remove(socket);
        why.into_iter().for_each(|why| self.warn_of_end(why));
        // A peer that violated the protocol may still report what it has read. A peer that falsified its report may
        // not.
        if closed || !self.has_links_with(process) {
            self.fall_back_to_network(ipc_connection, effects);
        } else {
            self.end_if_read(ipc_connection, effects);
        }
    }

    /// Ends the teardown if the peer has read its ring.
    pub(in crate::driver) fn end_if_read(&mut self, ipc_connection: Key, effects: &mut Effects) {
        if self.open.get(ipc_connection).is_some_and(|open| open.receiver.peer_has_read()) {
            self.fall_back_to_network(ipc_connection, effects);
        }
    }

    /// Ends the wait of a teardown if the last link with the process is gone.
    pub(super) fn shorten_teardown(&mut self, process: u128, effects: &mut Effects) {
        let is_of = |open: &IpcConnection| open.process == process;
        let mut closing = self.closing.iter().copied();
        let Some(ipc_connection) =
            closing.find(|ipc_connection| self.open.get(*ipc_connection).is_some_and(is_of))
        else {
            return;
        };
        if !self.has_links_with(process)
            && let Some(teardown) = self.open.get_mut(ipc_connection).and_then(|open| open.teardown.as_mut())
        {
            teardown.until = clock::monotonic();
            effects.schedule(Deadline::IpcTeardown(ipc_connection), teardown.deadline());
        }
    }

    fn has_links_with(&self, process: u128) -> bool {
        self.local_links.values().any(|link| link.peer.process == process)
    }

    /// Ends an IPC connection. Its links fall back to their own connections.
    fn fall_back_to_network(&mut self, ipc_connection: Key, effects: &mut Effects) {
        let Some(closed) = self.open.remove(ipc_connection) else { return };
        closed.receiver.announce_on_network();
        let fault = closed.sender.finish();
        self.closing.retain(|other| *other != ipc_connection);
        effects.cancel(Deadline::IpcTeardown(ipc_connection));
        self.peers.remove(&closed.process);
        self.remove(closed.sockets[1]);
        fault.into_iter().for_each(|why| self.warn_of_end(why));
        self.fall_back_to_rtps(&closed);
        effects.push_back(Effect::IpcConnectionClosed { sender: Arc::clone(&closed.sender) });
        self.schedule_reconnect(closed.process, closed.since, effects);
    }

    fn fall_back_to_rtps(&mut self, closed: &IpcConnection) {
        for key in self.entries.keys() {
            if let Some(Entry::SampleOutput(output)) = self.entries.get(key) {
                output.publication.fall_back_to_rtps(output.pair(), &closed.sender);
            }
        }
    }

    /// Schedules another connection to a process that has links. The last one began at `since`, or the attempt failed.
    pub(super) fn schedule_reconnect(&mut self, process: u128, since: Instant, effects: &mut Effects) {
        if !self.has_links_with(process) || self.other_versions.has(process) {
            self.reconnect_pauses.remove(&process);
            effects.cancel(Deadline::Process(process));
            return;
        }
        let now = clock::monotonic();
        let pause = match self.reconnect_pauses.get(&process) {
            Some(pause) if now.since(since) < LONGEST_PAUSE => (*pause * 2).min(LONGEST_PAUSE),
            _ => FIRST_PAUSE,
        };
        self.reconnect_pauses.insert(process, pause);
        effects.schedule(Deadline::Process(process), now + pause);
    }

    /// Checks whether the peer has read its ring or the wait is over.
    pub(in crate::driver) fn teardown_due(
        &mut self,
        now: Instant,
        ipc_connection: Key,
        effects: &mut Effects,
    ) {
        let teardown = self.open.get_mut(ipc_connection).and_then(|open| open.teardown.as_mut());
        let Some(teardown) = teardown else { return };
        if teardown.has_timed_out(now) {
            return self.fall_back_to_network(ipc_connection, effects);
        }
        effects.schedule(Deadline::IpcTeardown(ipc_connection), teardown.deadline());
        self.end_if_read(ipc_connection, effects);
    }

    /// Connects again to a process that has links.
    pub(in crate::driver) fn reconnect(&mut self, now: Instant, process: u128, effects: &mut Effects) {
        if !self.reconnect_pauses.contains_key(&process) {
            return;
        }
        self.connect_process(process, effects);
        if !self.peers.contains_key(&process) {
            // The peer is the one that connects, or cannot be reached now.
            self.schedule_reconnect(process, now, effects);
        }
    }
}
