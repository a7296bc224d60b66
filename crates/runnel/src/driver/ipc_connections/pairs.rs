//! ROS 2 pairs that may use IPC connections, and the requests of their two ends.

use std::sync::Arc;

use runnel_delivery::{ReceiveAction, Statement};
use runnel_rtps::wire::{EntityId, Guid};

use super::{Entry, IpcConnection, IpcConnections};
use crate::data::{LinkInfo, Publication, Received, SampleInfo, TopicInput};
use crate::driver::effect::Effects;
use crate::driver::memory_input::MemoryInput;
use crate::driver::pair_end::PairEnd;
use crate::driver::table::Key;
use crate::ipc::{IpcFault, Receiver, Record, RecordEvent, SampleData};
use crate::rtps::Rtps;

/// Maximum number of remembered requests for unknown pairs: the peer may know of a pair earlier than this process.
const MAX_EARLY_REQUESTS: usize = 4096;

/// A remote writer that a local reader has matched.
pub(super) struct SampleInput {
    pub(super) topic: Arc<TopicInput>,
    pub(super) from: Arc<LinkInfo>,
    pub(super) rtps: Arc<Rtps>,
    pub(super) reader: EntityId,
    pub(super) writer: Guid,
    /// The reader keeps all: the writer waits for its user.
    waits_for_user: bool,
    pub(super) memory: MemoryInput,
    /// The reader monitors liveliness, or samples within a deadline.
    pub(super) is_watched: bool,
    /// Shared memory is requested once the pair has settled.
    pub(super) requests_later: bool,
}

/// A remote reader that a local writer has matched.
pub(super) struct SampleOutput {
    pub(super) publication: Arc<Publication>,
    pub(super) writer: EntityId,
    pub(super) reader: Guid,
    /// The writer waits for the reader's user.
    pub(super) waits_for_user: bool,
}

impl SampleInput {
    /// Whether the writer waits for the reader's user.
    pub(super) fn waits_for_user(&self) -> bool {
        self.waits_for_user
    }

    pub(super) fn pair(&self) -> (EntityId, Guid) {
        (self.reader, self.writer)
    }

    /// Gives the sample of a record to the subscription, if no other sample comes before it.
    #[inline]
    pub(super) fn take_in_order(
        &mut self,
        receiver: &mut Receiver,
        record: &Record,
    ) -> Result<bool, IpcFault> {
        let number = receiver.number(record)?;
        if !self.from.position.takes(number) {
            return Ok(false);
        }
        let is_taken = self.memory.take_in_order(receiver, record, (&self.topic, &self.from))?;
        if is_taken {
            self.from.position.take(number);
            if self.is_watched {
                self.rtps.sample_passed(self.pair());
            }
        }
        Ok(is_taken)
    }

    /// Next action of the receiver. It delivers messages only while there is capacity.
    pub(super) fn next_action(&mut self, has_capacity: bool) -> Option<ReceiveAction<SampleData>> {
        let receiver = &mut self.memory.delivery.as_mut()?.receiver;
        if has_capacity { receiver.poll_action() } else { receiver.poll_report() }
    }

    /// Gives a message to the subscription, unless a ROS 1 link serves that. Returns the message's length, which uses
    /// capacity in either case.
    pub(super) fn deliver(&self, number: u64, message: SampleData) -> usize {
        let length = message.bytes().len();
        if !self.from.position.take(number) {
            return length;
        }
        let message = match message {
            SampleData::Borrowed(lent) => Received::Borrowed(lent),
            SampleData::Own(bytes) => Received::Own(bytes),
        };
        self.topic.push_sample(message, &self.from, SampleInfo::numbered(number));
        if self.is_watched {
            self.rtps.sample_passed(self.pair());
        }
        length
    }

    /// Counts lost messages. Messages that are missing while a ROS 1 link serves the subscription were written for
    /// others.
    pub(super) fn lose(&self, count: u64) {
        if !self.from.is_served_by_link() {
            self.from.position.lose(count);
            self.topic.lose(count, &self.from);
        }
    }
}

impl SampleOutput {
    pub(super) fn pair(&self) -> (EntityId, Guid) {
        (self.writer, self.reader)
    }
}

impl IpcConnection {
    /// Remembers a request for a pair that this process does not know.
    fn remember_early_request(&mut self, token: u128, waits_for_user: bool) {
        self.take_early_request(token);
        if self.early_requests.len() >= MAX_EARLY_REQUESTS {
            self.early_requests.pop_front();
        }
        self.early_requests.push_back((token, waits_for_user));
    }

    /// Takes a remembered request, and whether the writer waits for the reader's user.
    fn take_early_request(&mut self, token: u128) -> Option<bool> {
        let index = self.early_requests.iter().position(|(early, _)| *early == token)?;
        self.early_requests.remove(index).map(|(_, waits_for_user)| waits_for_user)
    }
}

impl IpcConnections {
    /// Adds a matched pair.
    pub(in crate::driver) fn add_pair(&mut self, end: PairEnd) -> Key {
        let entry = match end {
            PairEnd::Reader { topic, from, rtps, reader, writer } => {
                let (waits_for_user, memory) = (rtps.keeps_all(reader), MemoryInput::default());
                let (is_watched, requests_later) = (false, false);
                Entry::SampleInput(SampleInput {
                    topic,
                    from,
                    rtps,
                    reader,
                    writer,
                    waits_for_user,
                    memory,
                    is_watched,
                    requests_later,
                })
            }
            PairEnd::Writer { publication, writer, reader } => {
                Entry::SampleOutput(SampleOutput { publication, writer, reader, waits_for_user: false })
            }
        };
        self.entries.insert_with(|_| entry)
    }

    /// Handles the peer's request for a pair.
    pub(in crate::driver) fn on_samples_request(
        &mut self,
        ipc_connection: Key,
        token: u128,
        waits_for_user: bool,
        effects: &mut Effects,
    ) {
        let key = self.links.get(&token).copied();
        let Some(Entry::SampleOutput(output)) = key.and_then(|key| self.entries.get_mut(key)) else {
            let open = self.open.get_mut(ipc_connection);
            return open.into_iter().for_each(|open| open.remember_early_request(token, waits_for_user));
        };
        output.waits_for_user = waits_for_user;
        self.switch_to_memory(ipc_connection, token, effects);
    }

    /// Handles a request that came before this process knew of the pair.
    pub(super) fn switch_if_requested(&mut self, ipc_connection: Key, token: u128, effects: &mut Effects) {
        let asked = self.open.get_mut(ipc_connection).and_then(|open| open.take_early_request(token));
        if let Some(waits_for_user) = asked {
            self.on_samples_request(ipc_connection, token, waits_for_user, effects);
        }
    }

    /// The link of a token, if its peer is the process of this IPC connection.
    pub(in crate::driver) fn link_with(&self, ipc_connection: Key, token: u128) -> Option<Key> {
        let process = self.open.get(ipc_connection)?.process;
        let link = *self.links.get(&token)?;
        self.peer_of(link).filter(|peer| peer.process == process).map(|_| link)
    }

    /// Whether RTPS must be read before a record: earlier samples from the network may still be in the sockets.
    pub(super) fn is_behind_network(&self, ipc_connection: Key, event: &RecordEvent) -> bool {
        let RecordEvent::OpenSamples { token, begin: Statement::Begin { from, .. }, .. } = event else {
            return false;
        };
        match self.link_with(ipc_connection, *token).and_then(|key| self.entries.get(key)) {
            Some(Entry::SampleInput(input)) => {
                input.rtps.next_due(input.pair()).is_none_or(|due| due < *from)
            }
            _ => false,
        }
    }

    /// Handles the report of a remote reader.
    pub(in crate::driver) fn reader_reached(
        &mut self,
        pair: Key,
        (epoch, next): (u32, u64),
    ) -> Result<(), IpcFault> {
        match self.entries.get(pair) {
            Some(Entry::SampleOutput(output)) => {
                output.publication.reached(output.pair(), epoch, next).map_err(IpcFault::Reached)
            }
            _ => Ok(()),
        }
    }

    /// Sets the name of a pair's publisher.
    pub(in crate::driver) fn rename_publisher(&mut self, pair: Key, named: Arc<LinkInfo>) {
        if let Some(Entry::SampleInput(input)) = self.entries.get_mut(pair) {
            input.from = named;
        }
    }
}
