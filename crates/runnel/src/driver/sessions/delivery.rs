//! Order of a pair's samples while two paths bring them: the receiver of the delivery machine.
//!
//! ```text
//!             OPEN_SAMPLES: Begin                                 all before it has come by RTPS: Reached
//!  RTPS alone ───────────────────► samples of memory are held ───────────────────► memory alone
//!      ▲                                │ the session ends                              │ the session ends
//!      │ nothing is held                ▼                                               │
//!      └──────────────────────── RTPS brings what memory did not ◄──────────────────────┘
//! ```
//! RTPS puts its own samples in order, which the receiver gets one by one with their numbers. What RTPS passes over (GAP, a
//! HEARTBEAT that begins later) is known by the number of the next sample that it is to give. While RTPS alone carries the pair
//! and nothing is held, there is no receiver.

use runnel_delivery::{
    Credit, Path, PathId, PathKind, ReceiveAction, ReceiveError, Receiver, Statement, StreamId,
};
use runnel_rtps::wire::{EntityId, Guid};

use super::Sessions;
use crate::driver::Driver;
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::ipc::{Piece, SessionFault};
use crate::rtps::Brought;

/// The receiver's name of the path by RTPS. That of memory is another one with each channel.
const RTPS: PathId = PathId(0);

/// After so many samples a writer that waits for the user is told.
const REPORT_EVERY: u64 = Credit::DEFAULT.messages as u64 / 2;

/// See the module's documentation.
pub(in crate::driver) struct PairDelivery {
    receiver: Receiver<Piece>,
    /// The path by memory, and the epoch by which the sender knows it.
    memory: PathId,
    epoch: u32,
    /// The first sample of memory, and the number after the last that came by it.
    first: u64,
    position: u64,
}

impl PairDelivery {
    /// RTPS carries the pair, and gives the sample `next` next.
    fn new(id: StreamId, rtps: PathKind, next: u64, waits_for_user: bool) -> Result<Self, ReceiveError> {
        let mut receiver = Receiver::new(id, Credit::DEFAULT);
        if waits_for_user {
            receiver.report_every(REPORT_EVERY);
        }
        // There is no other path.
        let _ = receiver.path_up(Path::new(RTPS, rtps));
        receiver.begin(RTPS, 1, next, false)?;
        Ok(Self { receiver, memory: RTPS, epoch: 0, first: next, position: next })
    }

    /// Memory brings the samples from `from` on.
    fn begin_memory(&mut self, epoch: u32, from: u64) -> Result<(), ReceiveError> {
        self.memory = PathId(self.memory.0 + 1);
        // The one before is down.
        let _ = self.receiver.path_up(Path::new(self.memory, PathKind::SharedMemory));
        // Epochs are counted here, since the sender begins anew with each channel.
        self.receiver.begin(self.memory, self.receiver.epoch() + 1, from, false)?;
        (self.epoch, self.first, self.position) = (epoch, from, from);
        Ok(())
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
    fn message_of_memory(&mut self, number: u64, piece: Piece, has_room: bool) -> Result<(), ReceiveError> {
        let is_next = has_room && number == self.receiver.next();
        let piece = if is_next { piece } else { piece.into_own() };
        let bytes = piece.bytes().len();
        self.receiver.message(self.memory, number, piece, bytes)?;
        self.position = number + 1;
        Ok(())
    }

    /// None before this number comes by memory.
    fn skip_of_memory(&mut self, to: u64) -> Result<(), ReceiveError> {
        self.receiver.skip(self.memory, to)?;
        self.position = self.position.max(to);
        Ok(())
    }

    /// RTPS has given a sample, in order. One whose number cannot be is left out.
    fn message_of_rtps(&mut self, number: u64, bytes: Vec<u8>) {
        let length = bytes.len();
        if self.receiver.skip(RTPS, number).is_ok() {
            let _ = self.receiver.message(RTPS, number, Piece::Message(bytes), length);
        }
    }

    /// RTPS gives none before this number.
    fn skip_of_rtps(&mut self, next: u64) {
        let _ = self.receiver.skip(RTPS, next);
    }

    /// Memory brings nothing more, and RTPS all that is missing and follows. Gives the samples that RTPS need not bring: those up
    /// to the second number, from the first on, which is 1 if RTPS owes none before it.
    fn return_to_rtps(&mut self) -> (u64, u64) {
        let next = self.receiver.next();
        self.receiver.path_down(self.memory);
        let _ = self.receiver.begin(RTPS, self.receiver.epoch() + 1, next, false);
        (if self.waits_for_rtps() { self.first } else { 1 }, self.position)
    }

    /// What the sender knows a Reached by.
    fn reached(&self, reached: Statement) -> Statement {
        match reached {
            Statement::Reached { id, next, .. } => Statement::Reached { id, epoch: self.epoch, next },
            other => other,
        }
    }

    /// Whether RTPS still owes samples of before the change.
    fn waits_for_rtps(&self) -> bool {
        self.receiver.next() < self.first
    }
}

impl Sessions {
    /// The receivers that wait for samples of RTPS: it is followed for them.
    fn set_draining(&mut self, key: Key, is_draining: bool) {
        match self.draining.iter().position(|draining| *draining == key) {
            None if is_draining => self.draining.push(key),
            Some(index) if !is_draining => drop(self.draining.swap_remove(index)),
            _ => {}
        }
    }
}

impl Driver {
    /// A pair comes by memory from now on, as a Begin says.
    pub(super) fn begin_delivery(
        &mut self,
        key: Key,
        first_unacknowledged: u64,
        begin: &Statement,
    ) -> Result<(), SessionFault> {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return Ok(()) };
        let Statement::Begin { id, epoch, from, .. } = *begin else { return Ok(()) };
        let pair = input.pair();
        let is_reliable = input.rtps.is_reliable_pair(pair);
        let next = match input.rtps.next_due(pair) {
            // Nothing has come that could tell what is missing.
            None | Some(1) if !is_reliable => from,
            due => due.unwrap_or(first_unacknowledged),
        };
        let rtps = if is_reliable { PathKind::RtpsReliable } else { PathKind::RtpsBestEffort };
        if input.delivery.is_none() {
            let delivery = PairDelivery::new(id, rtps, next, input.waits_for_user());
            input.delivery = Some(Box::new(delivery.map_err(SessionFault::Delivery)?));
            self.ros2.add_delivery(pair, key);
        }
        let begun = input.delivery.as_mut().map(|delivery| delivery.begin_memory(epoch, from));
        begun.unwrap_or(Ok(())).map_err(SessionFault::Delivery)?;
        input.is_watched = input.rtps.is_watched(pair);
        self.deliver_pair(key);
        Ok(())
    }

    /// Memory has brought a whole sample.
    pub(super) fn sample_is_whole(
        &mut self,
        key: Key,
        number: u64,
        message: Piece,
    ) -> Result<(), SessionFault> {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return Ok(()) };
        let has_room = self.ros2.has_room(input.reader);
        let Some(delivery) = &mut input.delivery else { return Ok(()) };
        delivery.message_of_memory(number, message, has_room).map_err(SessionFault::Delivery)?;
        self.deliver_pair(key);
        Ok(())
    }

    /// Memory does not bring some samples.
    pub(super) fn hear_skip(&mut self, key: Key, skip: &Statement) -> Result<(), SessionFault> {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return Ok(()) };
        let Statement::Skip { to, .. } = *skip else { return Err(SessionFault::UnexpectedStatement) };
        let Some(delivery) = &mut input.delivery else { return Ok(()) };
        delivery.skip_of_memory(to).map_err(SessionFault::Delivery)?;
        self.deliver_pair(key);
        Ok(())
    }

    /// RTPS gives a sample of a pair that has a receiver.
    pub(in crate::driver) fn deliver_rtps_sample(&mut self, key: Key, number: u64, bytes: Vec<u8>) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        if let Some(delivery) = &mut input.delivery {
            delivery.message_of_rtps(number, bytes);
            self.deliver_pair(key);
        }
    }

    /// RTPS may have passed over samples for which others wait. To be called when all that it gave is handed out.
    pub(in crate::driver) fn follow_rtps(&mut self) {
        if self.sessions.draining.is_empty() {
            return;
        }
        for key in self.sessions.draining.clone() {
            let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { continue };
            let next = input.rtps.passed_before(input.pair());
            if let (Some(delivery), Some(next)) = (&mut input.delivery, next) {
                delivery.skip_of_rtps(next);
                self.deliver_pair(key);
            }
        }
    }

    /// A channel has ended: RTPS carries on.
    pub(super) fn return_to_network(&mut self, key: Key) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        let (rtps, pair) = (input.rtps.clone(), input.pair());
        let Some(delivery) = &mut input.delivery else { return };
        let received = delivery.return_to_rtps();
        let mut brought = Brought::default();
        rtps.note_received(pair, received, &mut brought);
        self.deliver_pair(key);
        self.give_brought(brought, &[]);
    }

    /// Gives the user of a pair what is due, as long as there is room for it.
    pub(in crate::driver) fn deliver_pair(&mut self, key: Key) {
        self.hand_out(|driver| driver.take_delivered(key, false));
        self.settle_pair(key);
    }

    /// A pair ends, or begins anew: what is held is the user's, whatever is missing before it.
    pub(in crate::driver) fn finish_delivery(&mut self, key: Key) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        let (rtps, pair) = (input.rtps.clone(), input.pair());
        let Some(delivery) = &mut input.delivery else { return };
        let position = delivery.position;
        delivery.skip_of_rtps(position);
        self.hand_out(|driver| driver.take_delivered(key, true));
        self.end_delivery(key);
        let mut brought = Brought::default();
        rtps.note_received(pair, (1, position), &mut brought);
        self.give_brought(brought, &[]);
    }

    /// A pair is about to be known otherwise: what still waits for RTPS, and the pair that it is of.
    pub(in crate::driver) fn take_delivery(
        &mut self,
        key: Key,
    ) -> Option<((EntityId, Guid), Box<PairDelivery>)> {
        self.receive_to_the_end(key);
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return None };
        let pair = input.pair();
        let delivery = input.delivery.take()?;
        self.sessions.set_draining(key, false);
        self.ros2.remove_delivery(pair);
        Some((pair, delivery))
    }

    /// It is known anew, and has not been asked for.
    pub(in crate::driver) fn put_delivery(&mut self, key: Key, delivery: Box<PairDelivery>) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        let pair = input.pair();
        if input.delivery.is_none() {
            input.delivery = Some(delivery);
            self.ros2.add_delivery(pair, key);
            self.deliver_pair(key);
        }
    }

    fn take_delivered(&mut self, key: Key, ignores_room: bool) {
        while let Some(action) = self.next_action(key, ignores_room) {
            let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
            let (reader, writer) = input.pair();
            match action {
                ReceiveAction::Deliver { message, .. } => self.give_to_user(key, message),
                ReceiveAction::Lost { count, .. } => self.samples_lost(reader, writer, count),
                ReceiveAction::Reached { statement, .. } if input.has_channel() => {
                    self.tell_reached(key, statement);
                }
                // The sockets were read before the Begin.
                ReceiveAction::DrainPath { path } => {
                    if let Some(delivery) = &mut input.delivery {
                        delivery.receiver.path_drained(path);
                    }
                }
                ReceiveAction::Reached { .. } | ReceiveAction::Close { .. } => {}
            }
        }
    }

    fn next_action(&mut self, key: Key, ignores_room: bool) -> Option<ReceiveAction<Piece>> {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return None };
        let has_room = ignores_room || self.ros2.has_room(input.reader);
        let receiver = &mut input.delivery.as_mut()?.receiver;
        if has_room { receiver.poll_action() } else { receiver.poll_report() }
    }

    fn give_to_user(&mut self, key: Key, message: Piece) {
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return };
        let (reader, writer) = input.pair();
        // Before the first one of a publisher in both graphs comes what that sent by ROS 1.
        self.hear_ros1_first(reader, writer);
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return };
        let length = message.bytes().len();
        match message {
            Piece::Lent(lent) => input.topic.push_lent(lent, &input.from),
            Piece::Message(bytes) | Piece::Bytes(bytes) => input.topic.push(bytes, &input.from),
        }
        input.note_given();
        self.note_room_taken(reader, length);
    }

    /// Tells the writer of a pair how far its reader is.
    fn tell_reached(&mut self, key: Key, reached: Statement) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        let Some(reached) = input.delivery.as_ref().map(|delivery| delivery.reached(reached)) else { return };
        let (process, token) = (input.meeting.process, input.meeting.token);
        let session = self.sessions.session_with(process, &self.sockets);
        let Some(open) = session.and_then(|session| self.sessions.open.get_mut(session)) else { return };
        let is_told = open.sender.tell_reached(token, &reached);
        if !is_told && !open.untold.contains(&key) {
            open.untold.push(key);
        }
        if let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) {
            input.untold = (!is_told).then_some(reached);
        }
    }

    /// There may be room for what could not be told.
    pub(super) fn tell_reached_again(&mut self, key: Key) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        if let Some(reached) = input.untold.take() {
            self.tell_reached(key, reached);
        }
    }

    /// Notes whether RTPS is to be followed for a pair. A pair whose channel has ended needs no receiver once the user has all
    /// that came by it.
    fn settle_pair(&mut self, key: Key) {
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return };
        let Some(delivery) = &input.delivery else { return };
        if input.has_channel() {
            self.sessions.set_draining(key, delivery.waits_for_rtps());
        } else if delivery.receiver.held() > 0 {
            self.sessions.set_draining(key, true);
        } else {
            self.end_delivery(key);
        }
    }

    fn end_delivery(&mut self, key: Key) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        input.delivery = None;
        let (pair, token) = (input.pair(), input.meeting.token);
        let asks = std::mem::take(&mut input.asks_later);
        self.sessions.set_draining(key, false);
        self.ros2.remove_delivery(pair);
        if asks && let Some(session) = self.session_of(key) {
            self.ask(session, key, token);
        }
    }
}
