//! Order of a pair's messages while two paths bring them: the receiver of the delivery machine.
//!
//! The network, RTPS or the connection of a link of ROS 1, puts its own messages in order, which the receiver gets one by one with
//! their numbers.

use runnel_delivery::{Credit, Path, PathId, PathKind, ReceiveError, Receiver, Statement, StreamId};

use crate::ipc::{Piece, SessionFault};

/// The receiver's name of the path by the network. That of memory is another one with each channel.
const NETWORK: PathId = PathId(0);

/// After so many samples a writer that waits for the user is told.
const REPORT_EVERY: u64 = Credit::DEFAULT.messages as u64 / 2;

/// See the module's documentation.
pub(super) struct PairDelivery {
    pub(super) receiver: Receiver<Piece>,
    /// The path by memory, and the epoch by which the sender knows it.
    memory: PathId,
    epoch: u32,
    /// The first sample of memory, and the number after the last that came by it.
    pub(super) first: u64,
    pub(super) position: u64,
}

impl PairDelivery {
    /// The network carries the pair since this epoch, and gives the message `next` next.
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

    /// Memory brings the messages from `from` on. Where epochs are `counted` here, since the sender begins anew with each
    /// channel, its own is that by which it is told how far this end is.
    pub(super) fn begin_memory(
        &mut self,
        (epoch, from): (u32, u64),
        counted: bool,
    ) -> Result<(), ReceiveError> {
        self.memory = PathId(self.memory.0 + 1);
        // The one before is down.
        let _ = self.receiver.path_up(Path::new(self.memory, PathKind::SharedMemory));
        let here = if counted { self.receiver.epoch() + 1 } else { epoch };
        self.receiver.begin(self.memory, here, from, false)?;
        (self.epoch, self.first, self.position) = (epoch, from, from);
        Ok(())
    }

    /// The network brings the messages from `from` on.
    pub(super) fn begin_network(&mut self, epoch: u32, from: u64) -> Result<(), ReceiveError> {
        self.receiver.begin(NETWORK, epoch, from, false)
    }

    /// True if the sample of this number, which memory has brought, goes to the user at once.
    #[inline]
    pub(super) fn accept_in_order(&mut self, number: u64) -> bool {
        let is_accepted = self.receiver.accept_in_order(self.memory, number);
        if is_accepted {
            self.position = number + 1;
        }
        is_accepted
    }

    /// Whether memory can bring the sample of this number next.
    pub(super) fn check_order(&self, number: u64) -> Result<(), SessionFault> {
        let next = self.position;
        if number < next || number > i64::MAX as u64 {
            return Err(SessionFault::SampleOutOfOrder { number, next });
        }
        Ok(())
    }

    /// Memory has brought a sample. A slot that is lent is not held.
    pub(super) fn message_of_memory(
        &mut self,
        number: u64,
        piece: Piece,
        has_room: bool,
    ) -> Result<(), ReceiveError> {
        let is_next = has_room && number == self.receiver.next();
        let piece = if is_next { piece } else { piece.into_own() };
        let bytes = piece.bytes().len();
        self.receiver.message(self.memory, number, piece, bytes)?;
        self.position = number + 1;
        Ok(())
    }

    /// None before this number comes by memory.
    pub(super) fn skip_of_memory(&mut self, to: u64) -> Result<(), ReceiveError> {
        self.receiver.skip(self.memory, to)?;
        self.position = self.position.max(to);
        Ok(())
    }

    /// The network has given a message, in order. One whose number cannot be is left out.
    pub(super) fn message_of_network(&mut self, number: u64, bytes: Vec<u8>) {
        let length = bytes.len();
        if self.receiver.skip(NETWORK, number).is_ok() {
            let _ = self.receiver.message(NETWORK, number, Piece::Own(bytes), length);
        }
    }

    /// The network gives none before this number.
    pub(super) fn skip_of_network(&mut self, next: u64) {
        let _ = self.receiver.skip(NETWORK, next);
    }

    /// Memory brings nothing more. What is missing waits for the network to begin anew.
    pub(super) fn end_memory(&mut self) {
        self.receiver.path_down(self.memory);
    }

    /// Memory brings nothing more, and RTPS all that is missing and follows. Gives the samples that RTPS need not bring: those up
    /// to the second number, from the first on, which is 1 if RTPS owes none before it.
    pub(super) fn return_to_rtps(&mut self) -> (u64, u64) {
        let next = self.receiver.next();
        self.end_memory();
        let _ = self.receiver.begin(NETWORK, self.receiver.epoch() + 1, next, false);
        (if self.waits_for_network() { self.first } else { 1 }, self.position)
    }

    /// What the sender knows a Reached by.
    pub(super) fn reached(&self, reached: Statement) -> Statement {
        match reached {
            Statement::Reached { id, next, .. } => Statement::Reached { id, epoch: self.epoch, next },
            other => other,
        }
    }

    /// Whether the network still owes messages of before the change.
    pub(super) fn waits_for_network(&self) -> bool {
        self.receiver.next() < self.first
    }
}
