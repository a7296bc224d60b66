//! Service links whose channel was opened before their connection had delivered all earlier bytes. Input of the channel
//! waits here, without delaying other links of the IPC connection.
//!
//! A connection that never delivers these bytes is not what it seems: a third party may have joined it to another. So
//! such a link ends and is made again. The IPC connection remains.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::IpcConnections;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::Key;

/// Maximum wait for the rest of a connection. Within one host, sent bytes have arrived by then.
pub(in crate::driver) const CONNECTION_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of bytes that wait for the links of one IPC connection, [`OVERHEAD`] included.
const MAX_BYTES: usize = 16 << 20;

/// Memory of a piece apart from its bytes.
const OVERHEAD: usize = 64;

/// The waiting links of one IPC connection.
#[derive(Default)]
pub(super) struct WaitingStreams(Vec<WaitingStream>);

/// State of a waiting link.
pub(in crate::driver) struct WaitingStream {
    link: Key,
    /// `None` once the peer has closed it.
    pub(in crate::driver) channel: Option<u32>,
    /// Bytes of the stream that the connection delivers before the channel.
    before: u64,
    since: Instant,
    pub(in crate::driver) pieces: Vec<Vec<u8>>,
    /// Length of the pieces.
    bytes: usize,
}

impl WaitingStreams {
    /// Closes a channel.
    pub(super) fn close(&mut self, channel: u32) {
        self.0
            .iter_mut()
            .filter(|stream| stream.channel == Some(channel))
            .for_each(|stream| stream.channel = None);
    }

    /// The link with the most waiting bytes, if the sum exceeds the limit.
    fn largest_beyond_limit(&self) -> Option<Key> {
        let bytes: usize = self.0.iter().map(|stream| stream.bytes).sum();
        let most = self.0.iter().max_by_key(|stream| stream.bytes)?;
        (bytes > MAX_BYTES).then_some(most.link)
    }

    fn take(&mut self, link: Key) -> Option<WaitingStream> {
        let index = self.0.iter().position(|stream| stream.link == link)?;
        Some(self.0.remove(index))
    }
}

impl IpcConnections {
    /// Makes a link wait until its connection has delivered `before` bytes of the stream.
    pub(in crate::driver) fn wait_for_connection(
        &mut self,
        ipc_connection: Key,
        link: Key,
        (channel, before): (u32, u64),
        effects: &mut Effects,
    ) {
        let Some(open) = self.open.get_mut(ipc_connection) else { return };
        if open.waiting.0.iter().any(|stream| stream.link == link) {
            return self.give_up(ipc_connection, link, "its shared-memory channel was opened twice", effects);
        }
        let (channel, since) = (Some(channel), clock::monotonic());
        open.waiting.0.push(WaitingStream { link, channel, before, since, pieces: Vec::new(), bytes: 0 });
        self.schedule_check(since, effects);
    }

    /// Queues a piece of a stream for a link that waits. Pieces of unknown channels are dropped.
    pub(in crate::driver) fn queue_piece(
        &mut self,
        ipc_connection: Key,
        channel: u32,
        piece: Vec<u8>,
        effects: &mut Effects,
    ) {
        let Some(open) = self.open.get_mut(ipc_connection) else { return };
        let Some(stream) = open.waiting.0.iter_mut().find(|stream| stream.channel == Some(channel)) else {
            return;
        };
        stream.bytes += OVERHEAD + piece.len();
        stream.pieces.push(piece);
        if let Some(link) = open.waiting.largest_beyond_limit() {
            self.give_up(
                ipc_connection,
                link,
                "too many bytes wait until its connection has delivered earlier ones",
                effects,
            );
        }
    }

    /// Schedules a check of waiting links, one of which has waited since then.
    pub(in crate::driver) fn schedule_check(&mut self, since: Instant, effects: &mut Effects) {
        let first = self.waiting_since.map_or(since, |other| other.min(since));
        self.waiting_since = Some(first);
        effects.schedule(Deadline::WaitingStreams, first + CONNECTION_TIMEOUT);
    }

    /// The waiting links, the bytes that their connections deliver first, and since when they wait.
    pub(in crate::driver) fn waiting_streams(&self, ipc_connection: Key) -> Vec<(Key, u64, Instant)> {
        let streams = self.open.get(ipc_connection).into_iter().flat_map(|open| &open.waiting.0);
        streams.map(|stream| (stream.link, stream.before, stream.since)).collect()
    }

    /// Takes a link whose connection has delivered all bytes.
    pub(in crate::driver) fn take_waiting_stream(
        &mut self,
        ipc_connection: Key,
        link: Key,
    ) -> Option<WaitingStream> {
        self.open.get_mut(ipc_connection)?.waiting.take(link)
    }

    /// Notes that a link uses shared memory while its connection may still deliver earlier messages.
    pub(in crate::driver) fn note_owed(&mut self, link: Key) {
        self.owed.push((link, clock::monotonic()));
    }

    /// Notes that it still waits, since then.
    pub(in crate::driver) fn keep_owed(&mut self, link: Key, since: Instant, effects: &mut Effects) {
        self.owed.push((link, since));
        self.schedule_check(since, effects);
    }

    /// Takes the links whose connections may still deliver messages, and since when.
    pub(in crate::driver) fn take_owed(&mut self) -> Vec<(Key, Instant)> {
        std::mem::take(&mut self.owed)
    }

    /// Ends a waiting link and drops its pieces.
    pub(in crate::driver) fn give_up(
        &mut self,
        ipc_connection: Key,
        link: Key,
        why: &'static str,
        effects: &mut Effects,
    ) {
        let stream = self.open.get_mut(ipc_connection).and_then(|open| open.waiting.take(link));
        effects.extend(stream.map(|_| Effect::Misbehaved { link, why }));
    }

    /// Handles the end of an IPC connection: links with waiting pieces end, the others continue on their connections.
    pub(in crate::driver) fn give_up_waiting_streams(&mut self, ipc_connection: Key, effects: &mut Effects) {
        let Some(open) = self.open.get_mut(ipc_connection) else { return };
        open.waiting.0.retain(|stream| !stream.pieces.is_empty());
        let links: Vec<Key> = open.waiting.0.iter().map(|stream| stream.link).collect();
        for link in links {
            let why = "its IPC connection ended before its own connection had delivered all earlier bytes";
            self.give_up(ipc_connection, link, why, effects);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_with_most_waiting_bytes_exceeds_limit() {
        let stream = |number: u64, bytes: usize| WaitingStream {
            link: Key::from_bits(number),
            channel: None,
            before: 0,
            since: Instant::default(),
            pieces: Vec::new(),
            bytes,
        };
        let beyond = |bytes: [usize; 2]| {
            WaitingStreams(vec![stream(0, bytes[0]), stream(1, bytes[1])])
                .largest_beyond_limit()
                .map(Key::to_bits)
        };
        assert_eq!(beyond([MAX_BYTES / 2, MAX_BYTES / 2]), None);
        assert_eq!(beyond([MAX_BYTES / 2, MAX_BYTES / 2 + 1]), Some(1));
        assert_eq!(beyond([MAX_BYTES, 1]), Some(0));
        assert_eq!(WaitingStreams::default().largest_beyond_limit(), None);
    }
}
