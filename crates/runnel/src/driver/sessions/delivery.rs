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
//!
//! Room for messages and what RTPS gives are the ROS 2 graph's: the loop asks for one message after the other
//! ([`Sessions::deliver_next`]), and hands on what RTPS need not bring any more.

use std::sync::Arc;

use runnel_delivery::{PathKind, ReceiveAction, Statement};
use runnel_rtps::wire::{EntityId, Guid};

use super::{Entry, SampleInput, Sessions};
use crate::data::LinkInfo;
use crate::driver::effect::Effects;
use crate::driver::memory_input::MemoryInput;
use crate::driver::pair_delivery::PairDelivery;
use crate::driver::table::Key;
use crate::ipc::{ChannelData, IpcFault};
use crate::log_output::console;
use crate::rtps::ReceivedBatch;

impl Sessions {
    /// A pair whose writer is of another process.
    fn sample_input(&mut self, pair: Key) -> Option<&mut SampleInput> {
        match self.entries.get_mut(pair)? {
            Entry::SampleInput(input) => Some(input),
            _ => None,
        }
    }

    /// What such a pair has to do with memory.
    pub(in crate::driver) fn memory_input(&mut self, pair: Key) -> Option<&mut MemoryInput> {
        self.sample_input(pair).map(|input| &mut input.memory)
    }

    /// The reader and the writer of such a pair, and whether it has a receiver.
    pub(in crate::driver) fn receiver_of(&mut self, pair: Key) -> Option<((EntityId, Guid), bool)> {
        self.sample_input(pair).map(|input| (input.pair(), input.memory.delivery.is_some()))
    }

    /// Whether RTPS still matches a pair.
    pub(in crate::driver) fn is_pair(&self, pair: Key) -> bool {
        self.entries.get(pair).is_some()
    }

    /// What is known of a pair's publisher.
    pub(in crate::driver) fn info_of(&mut self, pair: Key) -> Option<Arc<LinkInfo>> {
        self.sample_input(pair).map(|input| Arc::clone(&input.from))
    }

    /// A pair comes by a channel from now on, as a Begin says. RTPS has brought all before `first_unacknowledged`.
    pub(in crate::driver) fn begin_channel(
        &mut self,
        key: Key,
        first_unacknowledged: u64,
        begin: &Statement,
    ) -> Result<(), IpcFault> {
        let Some(input) = self.sample_input(key) else { return Ok(()) };
        let Statement::Begin { id, epoch, from, .. } = *begin else { return Ok(()) };
        input.memory.open_channel();
        input.from.stats.set_by_memory(true);
        console::debug!("publisher [{}]: its messages come by shared memory", input.from.publisher);
        let pair = input.pair();
        let is_reliable = input.rtps.is_reliable_pair(pair);
        let next = first_due(input.rtps.next_due(pair), is_reliable, (first_unacknowledged, from));
        let rtps = if is_reliable { PathKind::RtpsReliable } else { PathKind::RtpsBestEffort };
        if input.memory.delivery.is_none() {
            let delivery = PairDelivery::new(id, rtps, (1, next), input.waits_for_user());
            input.memory.delivery = Some(Box::new(delivery.map_err(IpcFault::Delivery)?));
        }
        let begun = input.memory.delivery.as_mut().map(|delivery| delivery.begin_memory((epoch, from), true));
        begun.unwrap_or(Ok(())).map_err(IpcFault::Delivery)?;
        input.is_watched = input.rtps.is_monitored(pair);
        Ok(())
    }

    /// The channel of a pair has brought something. What of it is due is given by [`Sessions::deliver_next`].
    pub(in crate::driver) fn on_channel_data(
        &mut self,
        pair: Key,
        data: ChannelData,
        has_capacity: impl FnOnce(EntityId) -> bool,
    ) -> Result<(), IpcFault> {
        // The channel of a pair that is gone carries nothing.
        let Some(SampleInput { topic, reader, memory, .. }) = self.sample_input(pair) else { return Ok(()) };
        memory.on_channel_data(data, has_capacity(*reader), || topic.spare())
    }

    /// Gives the user of a pair the next message that is due, if there is room for it, and does what else is due. The reader and
    /// the length of the message; `None` if nothing more is due.
    pub(in crate::driver) fn deliver_next(
        &mut self,
        pair: Key,
        has_capacity: impl Fn(EntityId) -> bool,
    ) -> Option<(EntityId, usize)> {
        let is_network_unread = self.is_network_unread;
        loop {
            let input = self.sample_input(pair)?;
            match input.next_action(has_capacity(input.reader))? {
                ReceiveAction::Deliver { number, message } => {
                    let length = input.deliver(number.unwrap_or_default(), message);
                    return Some((input.reader, length));
                }
                ReceiveAction::Lost { count, .. } => input.lose(count),
                ReceiveAction::Reached { statement, .. } if input.memory.has_channel() => {
                    let memory = &mut input.memory;
                    memory.unsent_report =
                        memory.delivery.as_ref().map(|delivery| delivery.reached(statement));
                    self.send_report(pair);
                }
                ReceiveAction::DrainPath { path } if is_network_unread => self.undrained.push((pair, path)),
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

    /// RTPS has been read for the pairs that began before that was possible.
    pub(in crate::driver) fn network_drained(&mut self) -> Vec<Key> {
        self.is_network_unread = false;
        let undrained = std::mem::take(&mut self.undrained);
        for (pair, path) in &undrained {
            if let Some(delivery) = self.memory_input(*pair).and_then(|memory| memory.delivery.as_mut()) {
                delivery.receiver.path_drained(*path);
            }
        }
        undrained.into_iter().map(|(pair, _)| pair).collect()
    }

    /// Notes whether RTPS is to be followed for a pair, when nothing more is due. A pair whose channel has ended needs no
    /// receiver once the user has all that came by it: true if it had one until now.
    pub(in crate::driver) fn settle_pair(&mut self, pair: Key, effects: &mut Effects) -> bool {
        let Some(input) = self.sample_input(pair) else { return false };
        let Some(delivery) = &input.memory.delivery else { return false };
        if input.memory.has_channel() {
            let is_draining = delivery.waits_for_network();
            self.set_draining(pair, is_draining);
        } else if delivery.receiver.held() > 0 {
            self.set_draining(pair, true);
        } else {
            self.end_delivery(pair, effects);
            return true;
        }
        false
    }

    /// RTPS gives a sample of a pair that has a receiver.
    pub(in crate::driver) fn message_of_rtps(&mut self, pair: Key, number: u64, bytes: Vec<u8>) {
        if let Some(delivery) = self.memory_input(pair).and_then(|memory| memory.delivery.as_mut()) {
            delivery.message_of_network(number, bytes);
        }
    }

    /// RTPS may have passed over samples of a pair for which others wait; false if that is not known.
    pub(in crate::driver) fn skip_of_rtps(&mut self, pair: Key) -> bool {
        let Some(input) = self.sample_input(pair) else { return false };
        let next = input.rtps.passed_before(input.pair());
        let (Some(delivery), Some(next)) = (&mut input.memory.delivery, next) else { return false };
        delivery.skip_of_network(next);
        true
    }

    /// Nothing more comes by a pair's channel: RTPS carries on. What it brings with that, if the pair has a receiver.
    pub(in crate::driver) fn channel_closed(&mut self, pair: Key) -> Option<ReceivedBatch> {
        let input = self.sample_input(pair)?;
        if !input.memory.close_channel() {
            return None;
        }
        input.from.stats.set_by_memory(false);
        let (rtps, of) = (input.rtps.clone(), input.pair());
        let received = input.memory.delivery.as_mut()?.return_to_rtps();
        let mut received_batch = ReceivedBatch::default();
        rtps.note_received(of, received, &mut received_batch);
        Some(received_batch)
    }

    /// A pair ends, or begins anew: what is held is the user's, whatever is missing before it, unless a link of ROS 1 brings what is
    /// missing and what is held. False if the pair has no receiver.
    pub(in crate::driver) fn begin_finish(&mut self, pair: Key, link_delivers_rest: bool) -> bool {
        let Some(delivery) = self.memory_input(pair).and_then(|memory| memory.delivery.as_mut()) else {
            return false;
        };
        if !link_delivers_rest {
            delivery.skip_of_network(delivery.position);
        }
        true
    }

    /// The user has what is due: RTPS carries on from there. What it brings with that.
    pub(in crate::driver) fn finish(&mut self, pair: Key, effects: &mut Effects) -> ReceivedBatch {
        let memory = self.memory_input(pair);
        let next =
            memory.and_then(|memory| memory.delivery.as_ref()).map(|delivery| delivery.receiver.next());
        self.end_delivery(pair, effects);
        let mut received_batch = ReceivedBatch::default();
        if let (Some(input), Some(next)) = (self.sample_input(pair), next) {
            input.rtps.note_received(input.pair(), (1, next), &mut received_batch);
        }
        received_batch
    }

    /// A pair is about to be known otherwise: its receiver, with what still waits for RTPS, and the reader and writer.
    pub(in crate::driver) fn take_delivery(
        &mut self,
        pair: Key,
    ) -> Option<((EntityId, Guid), Box<PairDelivery>)> {
        let input = self.sample_input(pair)?;
        let (of, delivery) = (input.pair(), input.memory.delivery.take()?);
        self.set_draining(pair, false);
        Some((of, delivery))
    }

    /// It is known anew, and has not been asked for.
    pub(in crate::driver) fn put_delivery(&mut self, pair: Key, delivery: Box<PairDelivery>) {
        if let Some(memory) = self.memory_input(pair).filter(|memory| memory.delivery.is_none()) {
            memory.delivery = Some(delivery);
        }
    }

    fn end_delivery(&mut self, pair: Key, effects: &mut Effects) {
        let Some(input) = self.sample_input(pair) else { return };
        if let Some(delivery) = input.memory.delivery.take() {
            // RTPS may hold samples that memory has brought as well, and gives them next. The last number that RTPS gave proves
            // nothing: a single datagram, which may be forged, can bring any.
            input.from.position.pass(delivery.receiver.next());
        }
        let asks = std::mem::take(&mut input.requests_later);
        self.set_draining(pair, false);
        if asks && let Some(session) = self.session_of(pair) {
            self.request_memory(session, pair, effects);
        }
    }

    /// The receivers that wait for samples of RTPS: it is followed for them.
    fn set_draining(&mut self, pair: Key, is_draining: bool) {
        match self.draining.iter().position(|draining| *draining == pair) {
            None if is_draining => self.draining.push(pair),
            Some(index) if !is_draining => drop(self.draining.swap_remove(index)),
            _ => {}
        }
    }
}

/// The first sample that is due when memory brings those from `from` on, given the one that RTPS gives next.
fn first_due(of_rtps: Option<u64>, is_reliable: bool, (first_unacknowledged, from): (u64, u64)) -> u64 {
    match of_rtps {
        // Nothing has come that could tell what is missing.
        None | Some(1) if !is_reliable => from,
        // RTPS carries none from that number on; a forged sample may claim otherwise.
        due => due.unwrap_or(first_unacknowledged).min(from),
    }
}

#[cfg(test)]
mod tests {
    use super::first_due;

    #[test]
    fn forged_rtps_number_does_not_pass_over_memory() {
        for is_reliable in [true, false] {
            assert_eq!(first_due(Some(1 << 40), is_reliable, (3, 7)), 7);
            assert_eq!(first_due(Some(5), is_reliable, (3, 7)), 5);
        }
        assert_eq!([true, false].map(|is_reliable| first_due(None, is_reliable, (3, 7))), [3, 7]);
    }
}
