//! Order of a pair's messages while two paths deliver them: the receiver of `runnel-delivery`.
//!
//! The network (RTPS, or the connection of a ROS 1 link) puts its own messages in order. The receiver gets them one by
//! one with their numbers.

use runnel_delivery::{Credit, Path, PathId, PathKind, ReceiveError, Receiver, Statement, StreamId};

use crate::ipc::{IpcFault, SampleData};

/// Path id of the network. Each channel of shared memory gets an id of its own.
const NETWORK: PathId = PathId(0);

/// Number of samples after which a keep-all writer gets a report.
const REPORT_EVERY: u64 = Credit::DEFAULT.messages as u64 / 2;

/// See the module's documentation.
pub(super) struct PairDelivery {
    pub(super) receiver: Receiver<SampleData>,
    /// Path id of shared memory, and the sender's epoch of it.
    memory: PathId,
    epoch: u32,
    /// First sample of shared memory, and the number after its last one.
    pub(super) first: u64,
    pub(super) position: u64,
}

impl PairDelivery {
    /// The network delivers the pair since this epoch. Its next message has the number `next`.
    pub(super) fn new(
        id: StreamId,
        network: PathKind,
        (epoch, next): (u32, u64),
        waits_for_user: bool,
    ) -> Result<Self, ReceiveError> {
        let mut receiver = Receiver::new(id, Credit::DEFAULT);
        if waits_for_user {
            receiver.report_every(REPORT_EVERY);
        }
        // There is no other path.
        let _ = receiver.path_up(Path::new(NETWORK, network));
        receiver.begin(NETWORK, epoch, next, false)?;
        Ok(Self { receiver, memory: NETWORK, epoch: 0, first: next, position: next })
    }

    /// Shared memory delivers the messages from `from` on. If the sender restarts its epochs with each channel, epochs
    /// are `counted` here, and reports to the sender name its own epoch.
    pub(super) fn begin_memory(
        &mut self,
        (epoch, from): (u32, u64),
        counted: bool,
    ) -> Result<(), ReceiveError> {
        self.memory = PathId(self.memory.0 + 1);
        // The channel before is down.
        let _ = self.receiver.path_up(Path::new(self.memory, PathKind::SharedMemory));
        let here = if counted { self.receiver.epoch() + 1 } else { epoch };
        self.receiver.begin(self.memory, here, from, false)?;
        (self.epoch, self.first, self.position) = (epoch, from, from);
        Ok(())
    }

    /// The network delivers the messages from `from` on.
    pub(super) fn begin_network(&mut self, epoch: u32, from: u64) -> Result<(), ReceiveError> {
        self.receiver.begin(NETWORK, epoch, from, false)
    }

    /// Whether the sample with this number from shared memory can be delivered at once.
    #[inline]
    pub(super) fn accept_in_order(&mut self, number: u64) -> bool {
        let is_accepted = self.receiver.accept_in_order(self.memory, number);
        if is_accepted {
            self.position = number + 1;
        }
        is_accepted
    }

    /// Checks that shared memory may deliver the sample with this number next.
    pub(super) fn check_order(&self, number: u64) -> Result<(), IpcFault> {
        let next = self.position;
        if number < next || number > i64::MAX as u64 {
            return Err(IpcFault::SampleOutOfOrder { number, next });
        }
        Ok(())
    }

    /// Takes a sample from shared memory. A borrowed slot is copied if the sample must wait.
    pub(super) fn message_of_memory(
        &mut self,
        number: u64,
        data: SampleData,
        has_capacity: bool,
    ) -> Result<(), ReceiveError> {
        let is_next = has_capacity && number == self.receiver.next();
        let data = if is_next { data } else { data.into_own() };
        let bytes = data.bytes().len();
        self.receiver.message(self.memory, number, data, bytes)?;
        self.position = number + 1;
        Ok(())
    }

    /// Shared memory delivers no sample before this number.
    pub(super) fn skip_of_memory(&mut self, to: u64) -> Result<(), ReceiveError> {
        self.receiver.skip(self.memory, to)?;
        self.position = self.position.max(to);
        Ok(())
    }

    /// Takes a message from the network, which delivers in order. One with an impossible number is dropped.
    pub(super) fn message_of_network(&mut self, number: u64, bytes: Vec<u8>) {
        let length = bytes.len();
        if self.receiver.skip(NETWORK, number).is_ok() {
            let _ = self.receiver.message(NETWORK, number, SampleData::Own(bytes), length);
        }
    }

    /// The network delivers no message before this number.
    pub(super) fn skip_of_network(&mut self, next: u64) {
        let _ = self.receiver.skip(NETWORK, next);
    }

    /// Ends the path of shared memory. Missing messages wait for the network.
    pub(super) fn end_memory(&mut self) {
        self.receiver.path_down(self.memory);
    }

    /// Ends the path of shared memory: RTPS delivers all missing and later samples. Returns the samples that RTPS need
    /// not deliver: from the first number up to the second. The first is 1 if RTPS has delivered all earlier ones.
    pub(super) fn return_to_rtps(&mut self) -> (u64, u64) {
        let next = self.receiver.next();
        self.end_memory();
        let _ = self.receiver.begin(NETWORK, self.receiver.epoch() + 1, next, false);
        (if self.waits_for_network() { self.first } else { 1 }, self.position)
    }

    /// The report with the sender's own epoch.
    pub(super) fn reached(&self, reached: Statement) -> Statement {
        match reached {
            Statement::Reached { id, next, .. } => Statement::Reached { id, epoch: self.epoch, next },
            other => other,
        }
    }

    /// Whether messages of before the handover are missing from the network.
    pub(super) fn waits_for_network(&self) -> bool {
        self.receiver.next() < self.first
    }
}
