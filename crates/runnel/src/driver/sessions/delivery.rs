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

use runnel_delivery::{PairId, PathKind, ReceiveAction, Statement};
use runnel_rtps::wire::{EntityId, Guid};

use super::pair_delivery::PairDelivery;
use super::{Entry, Sessions};
use crate::driver::Driver;
use crate::driver::table::{Key, Owner};
use crate::ipc::{Piece, SessionFault};
use crate::rtps::Brought;

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
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return Ok(()) };
        let Statement::Begin { id, epoch, from, .. } = *begin else { return Ok(()) };
        let pair = input.pair();
        let is_reliable = input.rtps.is_reliable_pair(pair);
        let next = match input.rtps.next_due(pair) {
            // Nothing has come that could tell what is missing.
            None | Some(1) if !is_reliable => from,
            due => due.unwrap_or(first_unacknowledged),
        };
        let rtps = if is_reliable { PathKind::RtpsReliable } else { PathKind::RtpsBestEffort };
        if input.memory.delivery.is_none() {
            let delivery = PairDelivery::new(id, rtps, (1, next), input.waits_for_user());
            input.memory.delivery = Some(Box::new(delivery.map_err(SessionFault::Delivery)?));
            self.ros2.add_delivery(pair, key);
        }
        let begun = input.memory.delivery.as_mut().map(|delivery| delivery.begin_memory((epoch, from), true));
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
        let has_room = match self.sessions.entries.get(key) {
            Some(Entry::SampleInput(input)) => self.ros2.has_room(input.reader),
            _ => true,
        };
        let Some(delivery) = self.delivery_of(key) else { return Ok(()) };
        delivery.message_of_memory(number, message, has_room).map_err(SessionFault::Delivery)?;
        self.deliver(key);
        Ok(())
    }

    /// Memory does not bring some samples.
    pub(super) fn hear_skip(&mut self, key: Key, skip: &Statement) -> Result<(), SessionFault> {
        if PairId::of(skip).is_some() {
            return self.hear_shared(key, *skip);
        }
        let Statement::Skip { to, .. } = *skip else { return Err(SessionFault::UnexpectedStatement) };
        let Some(delivery) = self.delivery_of(key) else { return Ok(()) };
        delivery.skip_of_memory(to).map_err(SessionFault::Delivery)?;
        self.deliver(key);
        Ok(())
    }

    fn delivery_of(&mut self, key: Key) -> Option<&mut PairDelivery> {
        self.memory_input(key)?.delivery.as_deref_mut()
    }

    /// Gives the user of a pair of either graph what is due.
    fn deliver(&mut self, key: Key) {
        match key.owner() {
            Owner::Sockets => self.deliver_link(key),
            Owner::Sessions => self.deliver_pair(key),
        }
    }

    /// RTPS gives a sample of a pair that has a receiver.
    pub(in crate::driver) fn deliver_rtps_sample(&mut self, key: Key, number: u64, bytes: Vec<u8>) {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return };
        if let Some(delivery) = &mut input.memory.delivery {
            delivery.message_of_network(number, bytes);
            self.deliver_pair(key);
        }
    }

    /// RTPS may have passed over samples for which others wait. To be called when all that it gave is handed out.
    pub(in crate::driver) fn follow_rtps(&mut self) {
        if self.sessions.draining.is_empty() {
            return;
        }
        for key in self.sessions.draining.clone() {
            let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { continue };
            let next = input.rtps.passed_before(input.pair());
            if let (Some(delivery), Some(next)) = (&mut input.memory.delivery, next) {
                delivery.skip_of_network(next);
                self.deliver_pair(key);
            }
        }
    }

    /// A channel has ended: RTPS carries on.
    pub(super) fn return_to_network(&mut self, key: Key) {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return };
        let (rtps, pair) = (input.rtps.clone(), input.pair());
        let Some(delivery) = &mut input.memory.delivery else { return };
        let received = delivery.return_to_rtps();
        let mut brought = Brought::default();
        rtps.note_received(pair, received, &mut brought);
        self.deliver_pair(key);
        self.give_brought(brought, &[]);
    }

    /// Gives the user of a pair what is due, as long as there is room for it.
    pub(in crate::driver) fn deliver_pair(&mut self, key: Key) {
        self.take_delivered(key, false);
        self.settle_pair(key);
    }

    /// A pair ends, or begins anew: what is held is the user's, whatever is missing before it. If a link of ROS 1 brings what is
    /// missing, it brings what is held as well.
    pub(in crate::driver) fn finish_delivery(&mut self, key: Key) {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get(key) else { return };
        let (rtps, pair, origin) = (input.rtps.clone(), input.pair(), input.from.origin);
        let comes_back = origin.is_some_and(|origin| self.has_link_for(origin, pair));
        let Some(delivery) = self.delivery_of(key) else { return };
        let mut end = delivery.position;
        if comes_back {
            self.take_delivered(key, true);
            end = self.delivery_of(key).map_or(end, |delivery| delivery.receiver.next());
        } else {
            delivery.skip_of_network(end);
            self.take_delivered(key, true);
        }
        self.end_delivery(key);
        let mut brought = Brought::default();
        rtps.note_received(pair, (1, end), &mut brought);
        self.give_brought(brought, &[]);
    }

    /// A pair is about to be known otherwise: what still waits for RTPS, and the pair that it is of.
    pub(in crate::driver) fn take_delivery(
        &mut self,
        key: Key,
    ) -> Option<((EntityId, Guid), Box<PairDelivery>)> {
        self.receive_to_the_end(key);
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return None };
        let pair = input.pair();
        let delivery = input.memory.delivery.take()?;
        self.sessions.set_draining(key, false);
        self.ros2.remove_delivery(pair);
        Some((pair, delivery))
    }

    /// It is known anew, and has not been asked for.
    pub(in crate::driver) fn put_delivery(&mut self, key: Key, delivery: Box<PairDelivery>) {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return };
        let pair = input.pair();
        if input.memory.delivery.is_none() {
            input.memory.delivery = Some(delivery);
            self.ros2.add_delivery(pair, key);
            self.deliver_pair(key);
        }
    }

    pub(in crate::driver) fn take_delivered(&mut self, key: Key, ignores_room: bool) {
        while let Some(action) = self.next_action(key, ignores_room) {
            let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return };
            let (reader, writer) = input.pair();
            match action {
                ReceiveAction::Deliver { number, message } => {
                    self.give_to_user(key, number.unwrap_or_default(), message);
                }
                ReceiveAction::Lost { count, .. } => self.samples_lost(reader, writer, count),
                ReceiveAction::Reached { statement, .. } if input.memory.has_channel() => {
                    self.tell_reached(key, statement);
                }
                // The sockets were read before the Begin.
                ReceiveAction::DrainPath { path } => {
                    if let Some(delivery) = &mut input.memory.delivery {
                        delivery.receiver.path_drained(path);
                    }
                }
                ReceiveAction::Reached { .. } | ReceiveAction::Close { .. } => {}
            }
        }
    }

    fn next_action(&mut self, key: Key, ignores_room: bool) -> Option<ReceiveAction<Piece>> {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return None };
        let has_room = ignores_room || self.ros2.has_room(input.reader);
        let receiver = &mut input.memory.delivery.as_mut()?.receiver;
        if has_room { receiver.poll_action() } else { receiver.poll_report() }
    }

    fn give_to_user(&mut self, key: Key, number: u64, message: Piece) {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get(key) else { return };
        let (reader, _) = input.pair();
        if !input.from.position.take(number) {
            return;
        }
        let length = message.bytes().len();
        match message {
            Piece::Lent(lent) => input.topic.push_lent(lent, &input.from),
            Piece::Own(bytes) => input.topic.push(bytes, &input.from),
        }
        input.note_given();
        self.ros2.note_room_taken(reader, length, &mut self.effects);
    }

    /// Tells the writer of a pair how far its reader is.
    fn tell_reached(&mut self, key: Key, reached: Statement) {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return };
        let memory = &mut input.memory;
        memory.untold = memory.delivery.as_ref().map(|delivery| delivery.reached(reached));
        self.sessions.tell_untold(key);
    }

    /// Notes whether RTPS is to be followed for a pair. A pair whose channel has ended needs no receiver once the user has all
    /// that came by it.
    fn settle_pair(&mut self, key: Key) {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get(key) else { return };
        let Some(delivery) = &input.memory.delivery else { return };
        if input.memory.has_channel() {
            self.sessions.set_draining(key, delivery.waits_for_network());
        } else if delivery.receiver.held() > 0 {
            self.sessions.set_draining(key, true);
        } else {
            self.end_delivery(key);
        }
    }

    fn end_delivery(&mut self, key: Key) {
        let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key) else { return };
        input.memory.delivery = None;
        let pair = input.pair();
        let asks = std::mem::take(&mut input.asks_later);
        self.sessions.set_draining(key, false);
        self.ros2.remove_delivery(pair);
        if asks && let Some(session) = self.sessions.session_of(key) {
            self.sessions.ask(session, key, &mut self.effects);
        }
    }
}
