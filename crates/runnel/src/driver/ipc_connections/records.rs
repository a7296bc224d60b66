//! Records of IPC connections. In-order samples go to their subscriptions at once. The event loop dispatches all other
//! records.

use super::{Entry, IpcConnections, RING_POLLS};
use crate::driver::limits::SCRATCH;
use crate::driver::table::{Key, Owner};
use crate::ipc::{IpcFault, Receiver, Record, RecordEvent};

/// Maximum number of records taken from one IPC connection before the others are read.
const BATCH: usize = 256;

/// Maximum number of words of these records, equal to one read of a connection.
const BATCH_WORDS: u64 = (SCRATCH / 8) as u64;

/// Maximum number of channels of an IPC connection.
pub(in crate::driver) const MAX_CHANNELS: usize = 1 << 16;

/// State of one batch of records of an IPC connection.
#[derive(Default)]
pub(in crate::driver) struct Batch {
    /// Number of records in the batch.
    count: usize,
    /// Position in the ring at which the batch begins.
    begun: Option<u64>,
    has_any: bool,
    network: Network,
}

/// Whether the network was read before the next record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Network {
    #[default]
    Unread,
    /// It was, and is not read again.
    Read,
    ReadBefore,
}

impl Batch {
    /// Whether a record was taken.
    pub(in crate::driver) fn has_any(&self) -> bool {
        self.has_any
    }

    /// Restarts the batch after the network was read for it; false if that had been done.
    pub(in crate::driver) fn restart_after_network(&mut self) -> bool {
        let is_first = self.network == Network::Unread;
        if is_first {
            (self.count, self.begun, self.network) = (0, None, Network::Read);
        }
        is_first
    }

    fn note_taken(&mut self, event: &RecordEvent) {
        self.count += 1;
        self.has_any = true;
        if self.network == Network::Read && matches!(event, RecordEvent::OpenSamples { .. }) {
            self.network = Network::ReadBefore;
        }
    }
}

/// Result of [`IpcConnections::take_records`].
pub(in crate::driver) enum Taken {
    /// No record is left for now.
    All,
    /// A taken record, for the event loop to dispatch.
    Record { channel: u32, event: RecordEvent },
    /// The network must be read before the next record.
    NetworkFirst,
}

impl IpcConnections {
    /// Polls the rings in a busy loop, until one has a record, `enough` is true, or the reactor must be polled.
    pub(crate) fn poll_rings(&self, enough: impl Fn() -> bool) {
        for _ in 0..RING_POLLS {
            let mut established = self.established.iter();
            if self.established.is_empty()
                || established.any(|ipc_connection| self.has_record(*ipc_connection))
                || enough()
            {
                break;
            }
        }
    }

    /// Whether an IPC connection has a record.
    pub(in crate::driver) fn has_record(&self, ipc_connection: Key) -> bool {
        self.open.get(ipc_connection).is_some_and(|open| open.receiver.has_record())
    }

    /// Words read from the ring of an IPC connection.
    pub(in crate::driver) fn position(&self, ipc_connection: Key) -> Option<u64> {
        self.open.get(ipc_connection).map(|open| open.receiver.position())
    }

    /// Takes records of an IPC connection up to one that the event loop must dispatch. `of_link` takes in-order samples
    /// of ROS 1 links.
    pub(in crate::driver) fn take_records(
        &mut self,
        ipc_connection: Key,
        batch: &mut Batch,
        mut of_link: impl FnMut(Key, &mut Receiver, &Record) -> Result<bool, IpcFault>,
    ) -> Result<Taken, IpcFault> {
        let Some(open) = self.open.get_mut(ipc_connection) else { return Ok(Taken::All) };
        let mut next = None;
        if open.teardown.is_none() && !open.receiver.is_peer_on_network() {
            let most = if open.receiver.copies() { 1 } else { BATCH };
            let begun = *batch.begun.get_or_insert(open.receiver.position());
            while batch.count < most
                && open.receiver.position() - begun < BATCH_WORDS
                && let Some(record) = open.receiver.peek()?
            {
                let link = open.link_of(record.channel).filter(|_| record.is_sample());
                let is_taken = match link.map(|link| (link.owner(), link)) {
                    Some((Owner::Sockets, link)) => of_link(link, &mut open.receiver, &record)?,
                    Some((Owner::IpcConnections, pair)) => match self.entries.get_mut(pair) {
                        Some(Entry::SampleInput(input)) => {
                            input.take_in_order(&mut open.receiver, &record)?
                        }
                        _ => false,
                    },
                    None => false,
                };
                if !is_taken {
                    next = Some(record);
                    break;
                }
                batch.count += 1;
                batch.has_any = true;
            }
        }
        let mut taken = Taken::All;
        if let Some(record) = next {
            let event = open.receiver.decode(&record)?;
            if batch.network == Network::Read || !self.is_behind_network(ipc_connection, &event) {
                batch.note_taken(&event);
                if let Some(open) = self.open.get_mut(ipc_connection) {
                    open.receiver.pass(&record);
                }
                return Ok(Taken::Record { channel: record.channel, event });
            }
            taken = Taken::NetworkFirst;
        }
        if batch.has_any
            && let Some(open) = self.open.get_mut(ipc_connection)
            && open.receiver.report_position()
        {
            open.sender.ring();
        }
        Ok(taken)
    }

    /// Takes one packet from the socket of an IPC connection. An error ends the connection: with `None`, the peer
    /// closed it.
    pub(in crate::driver) fn take_packet(
        &mut self,
        ipc_connection: Key,
    ) -> Option<Result<(), Option<IpcFault>>> {
        let open = self.open.get_mut(ipc_connection)?;
        let taken = open.receiver.packet();
        // Records may wait for descriptors of the packet.
        if matches!(taken, Ok(true)) {
            open.sender.ring();
        }
        Some(taken.map(drop))
    }

    /// The link or pair of a channel.
    pub(in crate::driver) fn link_of(&self, ipc_connection: Key, channel: u32) -> Option<Key> {
        self.open.get(ipc_connection)?.link_of(channel)
    }

    /// The links and pairs of all channels.
    pub(in crate::driver) fn links_of(&self, ipc_connection: Key) -> Vec<Key> {
        self.open.get(ipc_connection).into_iter().flat_map(|open| &open.channels).copied().flatten().collect()
    }

    /// Assigns a channel to a link or pair, which has received everything that was sent before.
    pub(in crate::driver) fn set_channel(&mut self, ipc_connection: Key, channel: u32, link: Key) {
        let Some(open) = self.open.get_mut(ipc_connection) else { return };
        let channel = channel as usize;
        if open.channels.len() <= channel {
            open.channels.resize(channel + 1, None);
        }
        open.channels[channel] = Some(link);
    }

    /// Ends a channel. Returns its link or pair.
    pub(in crate::driver) fn close_channel(&mut self, ipc_connection: Key, channel: u32) -> Option<Key> {
        let open = self.open.get_mut(ipc_connection)?;
        open.waiting.close(channel);
        open.channels.get_mut(channel as usize).and_then(Option::take)
    }

    /// Removes a link or pair from all channels.
    pub(in crate::driver) fn forget_channel_of(&mut self, ipc_connection: Key, link: Key) {
        let channels = self.open.get_mut(ipc_connection).into_iter().flat_map(|open| &mut open.channels);
        channels.filter(|assigned| **assigned == Some(link)).for_each(|assigned| *assigned = None);
    }
}
