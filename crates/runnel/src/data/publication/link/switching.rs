//! Handover of a link from its connection to shared memory, and back.

use std::sync::Arc;

use runnel_core::wire::{Encoding, NoMemory, try_append};
use runnel_delivery::{Numbered, PathKind, ReachedError, Statement};
use runnel_io::Reactor;
use runnel_ros1::tcpros::length_prefix;

use super::Link;
use crate::data::SwitchOutcome;
use crate::data::publication::memory_path::{Delivery, MemoryPath, NetworkState, ReturnedState};
use crate::data::stream_path::Channel;
use crate::frame::Frame;
use crate::ipc::Sender;

impl Link {
    /// Switches the link to an IPC connection, on which `token` identifies it. If that is possible later, the driver is
    /// woken by the peer once the ring has free space, or once our header is sent. The connection completes the message
    /// that it has begun.
    pub(in crate::data::publication) fn switch_to_memory(
        &mut self,
        reactor: &Reactor,
        sender: &Arc<Sender>,
        token: u128,
    ) -> SwitchOutcome {
        self.flush(reactor);
        if self.failed || self.memory.is_some() {
            return SwitchOutcome::NotNeeded;
        }
        let Some(numbers) = &self.numbers else { return SwitchOutcome::NotNeeded };
        if self.queue.preamble_left() > 0 || !numbers.statements.is_empty() {
            self.pending_switch = Some(Arc::clone(sender));
            return SwitchOutcome::Later;
        }
        let (bound, unsent) = (self.queue.bound(), self.first_unsent(numbers));
        let numbered = |(number, message): (u64, &Frame)| {
            let (bytes, message) = (message.as_ref().len(), message.clone());
            Numbered { number, bytes, message }
        };
        let network_state = NetworkState {
            network: PathKind::Tcpros,
            epoch: numbers.epoch,
            reached: numbers.reached,
            unsent,
            waiting: (unsent..).zip(self.queue.iter_unsent()).map(numbered).collect(),
            next: numbers.next,
        };
        let switched = Delivery::switch_to_memory(numbers.id.stream, network_state, bound, false);
        // The machine refuses no path of a link.
        let Some((delivery, begin)) = switched else { return SwitchOutcome::NotNeeded };
        let Some(number) = sender.open_samples(token, numbers.reached, &begin) else {
            return SwitchOutcome::Later;
        };
        let channel = Channel { sender: Arc::clone(sender), number };
        self.queue.discard_unsent();
        self.state_skip(unsent);
        let mut memory = MemoryPath::new((self.token, channel), (delivery, bound), Encoding::Ros1);
        memory.stats = Some(Arc::clone(&self.stats));
        if let Some(numbers) = &mut self.numbers {
            numbers.epoch = memory.epoch();
            // The subscriber may read memory before it has read these statements on the connection.
            let stated = self.shared.iter().flat_map(|shared| shared.restate());
            memory.statements = stated.map(|statement| (unsent, statement)).collect();
        }
        self.memory = Some(Box::new(memory));
        self.stats.set_by_memory(true);
        self.flush(reactor);
        SwitchOutcome::Switched
    }

    /// Switches the link back to its connection, if it uses this IPC connection, which has ended. Without memory for the
    /// messages that the subscriber has not read, the link ends and is established again.
    pub(in crate::data::publication) fn fall_back_to_connection(
        &mut self,
        reactor: &Reactor,
        sender: &Arc<Sender>,
    ) {
        let Some(memory) = self.memory.take_if(|memory| memory.is_of(sender)) else { return };
        self.stats.set_by_memory(false);
        self.shm_copies += memory.shm_copies();
        if self.resume_connection(memory.end()).is_err() {
            // The missing messages cannot be stated. The reactor reports the end of the connection.
            self.failed = true;
            let _ = self.stream.shutdown();
        }
        self.flush(reactor);
    }

    /// The connection continues with the messages that the subscriber has not read. It does not drop messages that
    /// were already in memory.
    fn resume_connection(&mut self, ended: ReturnedState) -> Result<(), NoMemory> {
        let ReturnedState { begin, taken, messages, unread_statements, statements, .. } = ended;
        let (Some(numbers), Some(begin)) = (&mut self.numbers, begin) else { return Ok(()) };
        if let Statement::Begin { epoch, from, .. } = begin {
            (numbers.epoch, numbers.stated) = (epoch, from);
        }
        let mut first = begin.encode_frame().to_vec();
        let (sent, waiting): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|(number, ..)| *number < taken);
        let mut unread_statements = unread_statements.into_iter().peekable();
        for (number, _, frame) in sent {
            while let Some((_, statement)) = unread_statements.next_if(|(after, _)| *after < number) {
                try_append(&mut first, &statement.encode_frame())?;
            }
            numbers.append_skip(&mut first, number)?;
            try_append(&mut first, &length_prefix(frame.as_ref()))?;
            try_append(&mut first, frame.as_ref())?;
            numbers.stated = number + 1;
        }
        for (_, statement) in unread_statements {
            try_append(&mut first, &statement.encode_frame())?;
        }
        numbers.statements = statements;
        numbers.append_skip(&mut first, numbers.next - waiting.len() as u64)?;
        let completed = self.queue.insert_preamble(&first)?;
        self.stats.count(completed, 0);
        for (.., frame) in waiting {
            self.queue.push(frame, 0);
        }
        Ok(())
    }

    /// The subscriber reports its position.
    pub(in crate::data::publication) fn reached(
        &mut self,
        epoch: u32,
        next: u64,
    ) -> Result<(), ReachedError> {
        let Some(numbers) = &mut self.numbers else { return Ok(()) };
        match &mut self.memory {
            Some(memory) => memory.reached(epoch, next)?,
            None if epoch > numbers.epoch => return Err(ReachedError::UnknownEpoch(epoch)),
            None if next > numbers.next => return Err(ReachedError::NotPublished(next)),
            None => {}
        }
        numbers.reached = numbers.reached.max(next);
        Ok(())
    }
}
