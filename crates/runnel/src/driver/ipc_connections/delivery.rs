//! Order of a pair's samples while two paths deliver them: the receiver of `runnel-delivery`.
//!
//! ```text
//!             OPEN_SAMPLES: Begin                              RTPS has delivered all earlier ones: Reached
//!  RTPS only ───────────────────► samples of memory are held ───────────────────────────► memory only
//!      ▲                            │ the IPC connection ends                                │ the IPC connection ends
//!      │ nothing is held            ▼                                                        │
//!      └──────────────────── RTPS delivers what memory did not ◄─────────────────────────────┘
//! ```
//! RTPS puts its own samples in order. The receiver gets them one by one with their numbers. What RTPS skips (GAP, or a
//! HEARTBEAT with a later first number) is known from the number of its next sample. While only RTPS delivers the pair and
//! nothing is held, there is no receiver.
//!
//! The capacity for messages and the output of RTPS belong to the ROS 2 graph. So the event loop asks for one message at a
//! time ([`IpcConnections::deliver_next`]), and informs RTPS what it need not deliver any more.

use std::sync::Arc;

use runnel_delivery::{PathKind, ReceiveAction, Statement};
use runnel_rtps::wire::{EntityId, Guid};

use super::{Entry, IpcConnections, SampleInput};
use crate::data::LinkInfo;
use crate::driver::effect::Effects;
use crate::driver::memory_input::MemoryInput;
use crate::driver::pair_delivery::PairDelivery;
use crate::driver::table::Key;
use crate::ipc::{ChannelData, IpcFault};
use crate::log_output::console;
use crate::rtps::ReceivedBatch;

impl IpcConnections {
    /// State of a pair with a remote writer.
    fn sample_input(&mut self, pair: Key) -> Option<&mut SampleInput> {
        match self.entries.get_mut(pair)? {
            Entry::SampleInput(input) => Some(input),
            _ => None,
        }
    }

    /// Shared memory as such a pair uses it.
    pub(in crate::driver) fn memory_input(&mut self, pair: Key) -> Option<&mut MemoryInput> {
        self.sample_input(pair).map(|input| &mut input.memory)
    }

    /// Reader and writer of such a pair, and whether it has a receiver.
    pub(in crate::driver) fn receiver_of(&mut self, pair: Key) -> Option<((EntityId, Guid), bool)> {
        self.sample_input(pair).map(|input| (input.pair(), input.memory.delivery.is_some()))
    }

    /// Whether RTPS still matches the pair.
    pub(in crate::driver) fn is_pair(&self, pair: Key) -> bool {
        self.entries.get(pair).is_some()
    }

    /// Information about a pair's publisher.
    pub(in crate::driver) fn info_of(&mut self, pair: Key) -> Option<Arc<LinkInfo>> {
        self.sample_input(pair).map(|input| Arc::clone(&input.from))
    }

    /// Opens a channel for a pair, as a Begin states. RTPS has delivered everything before `first_unacknowledged`.
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

    /// Takes content of a pair's channel. [`IpcConnections::deliver_next`] delivers what is due.
    pub(in crate::driver) fn on_channel_data(
        &mut self,
        pair: Key,
        data: ChannelData,
        has_capacity: impl FnOnce(EntityId) -> bool,
    ) -> Result<(), IpcFault> {
        // The channel of a removed pair delivers nothing.
        let Some(SampleInput { topic, reader, memory, .. }) = self.sample_input(pair) else { return Ok(()) };
        memory.on_channel_data(data, has_capacity(*reader), || topic.spare())
    }

    /// Does the due actions of a pair up to the delivery of a message, which needs capacity. Returns the reader and the
    /// message's length; `None` if nothing more is due.
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

    /// Continues pairs after RTPS was read for them, which was not possible when they began. Returns these pairs.
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

    /// Notes whether a pair waits for RTPS, once nothing more is due. If the channel has ended and everything was
    /// delivered, removes the receiver: true then.
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

    /// Passes a sample from RTPS to the pair's receiver.
    pub(in crate::driver) fn message_of_rtps(&mut self, pair: Key, number: u64, bytes: Vec<u8>) {
        if let Some(delivery) = self.memory_input(pair).and_then(|memory| memory.delivery.as_mut()) {
            delivery.message_of_network(number, bytes);
        }
    }

    /// Informs the receiver of samples that RTPS has skipped; false if there is no such information.
    pub(in crate::driver) fn skip_of_rtps(&mut self, pair: Key) -> bool {
        let Some(input) = self.sample_input(pair) else { return false };
        let next = input.rtps.passed_before(input.pair());
        let (Some(delivery), Some(next)) = (&mut input.memory.delivery, next) else { return false };
        delivery.skip_of_network(next);
        true
    }

    /// Handles the end of a pair's channel: RTPS delivers the rest. Returns what it delivers at once, if the pair has a
    /// receiver.
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

    /// Begins the end of a pair's receiver: held messages go to the user, whatever is missing before them, unless a ROS
    /// 1 link delivers all of these. False if the pair has no receiver.
    pub(in crate::driver) fn begin_finish(&mut self, pair: Key, link_delivers_rest: bool) -> bool {
        let Some(delivery) = self.memory_input(pair).and_then(|memory| memory.delivery.as_mut()) else {
            return false;
        };
        if !link_delivers_rest {
            delivery.skip_of_network(delivery.position);
        }
        true
    }

    /// Ends a pair's receiver after it has delivered everything: RTPS continues from there. Returns what it delivers at
    /// once.
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

    /// Takes the receiver of a pair whose token changes, with its samples.
    pub(in crate::driver) fn take_delivery(
        &mut self,
        pair: Key,
    ) -> Option<((EntityId, Guid), Box<PairDelivery>)> {
        let input = self.sample_input(pair)?;
        let (of, delivery) = (input.pair(), input.memory.delivery.take()?);
        self.set_draining(pair, false);
        Some((of, delivery))
    }

    /// Returns the receiver under the pair's new key, before shared memory is requested.
    pub(in crate::driver) fn put_delivery(&mut self, pair: Key, delivery: Box<PairDelivery>) {
        if let Some(memory) = self.memory_input(pair).filter(|memory| memory.delivery.is_none()) {
            memory.delivery = Some(delivery);
        }
    }

    fn end_delivery(&mut self, pair: Key, effects: &mut Effects) {
        let Some(input) = self.sample_input(pair) else { return };
        if let Some(delivery) = input.memory.delivery.take() {
            // RTPS may hold samples that shared memory has delivered, and delivers them next. The last number from RTPS
            // proves nothing: a single forged datagram can contain any number.
            input.from.position.pass(delivery.receiver.next());
        }
        let asks = std::mem::take(&mut input.requests_later);
        self.set_draining(pair, false);
        if asks && let Some(ipc_connection) = self.ipc_connection_of(pair) {
            self.request_memory(ipc_connection, pair, effects);
        }
    }

    /// Sets whether the receiver waits for samples from RTPS.
    fn set_draining(&mut self, pair: Key, is_draining: bool) {
        match self.draining.iter().position(|draining| *draining == pair) {
            None if is_draining => self.draining.push(pair),
            Some(index) if !is_draining => drop(self.draining.swap_remove(index)),
            _ => {}
        }
    }
}

/// Number of the first due sample when shared memory delivers those from `from` on, given the next one of RTPS.
fn first_due(of_rtps: Option<u64>, is_reliable: bool, (first_unacknowledged, from): (u64, u64)) -> u64 {
    match of_rtps {
        // Nothing has arrived that shows which samples are missing.
        None | Some(1) if !is_reliable => from,
        // RTPS delivers none from that number on. A forged sample may claim otherwise.
        due => due.unwrap_or(first_unacknowledged).min(from),
    }
}

#[cfg(test)]
mod tests {
    use super::first_due;

    #[test]
    fn forged_rtps_number_does_not_skip_memory() {
        for is_reliable in [true, false] {
            assert_eq!(first_due(Some(1 << 40), is_reliable, (3, 7)), 7);
            assert_eq!(first_due(Some(5), is_reliable, (3, 7)), 5);
        }
        assert_eq!([true, false].map(|is_reliable| first_due(None, is_reliable, (3, 7))), [3, 7]);
    }
}
