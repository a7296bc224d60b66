//! End of the shared memory path of a pair.

use std::collections::VecDeque;

use runnel_delivery::{Numbered, SendAction, SenderSnapshot, Statement};
use runnel_io::clock;

use super::{MEMORY, MemoryPath, NETWORK};
use crate::frame::Frame;
use crate::ipc::{UnreadSample, UnreadSamples};
use crate::rtps::Returned;

/// The state of a pair that shared memory returns to the network.
pub(in crate::data::publication) struct ReturnedState {
    /// The statement that opens the network path again.
    pub(in crate::data::publication) begin: Option<Statement>,
    /// The number after the last message that memory had accepted.
    pub(in crate::data::publication) taken: u64,
    /// The number of the first message to send, or of the next message.
    pub(in crate::data::publication) from: u64,
    /// The messages that the subscriber has not read.
    pub(in crate::data::publication) messages: Vec<Returned>,
    /// Statements that it has not read, each behind the message of the given number.
    pub(in crate::data::publication) unread_statements: Vec<(u64, Statement)>,
    /// Statements that were not sent, each before the message of the given number.
    pub(in crate::data::publication) statements: VecDeque<(u64, Statement)>,
}

impl MemoryPath {
    /// Ends the path. If the IPC connection continues, the subscriber reads the messages that it has not read.
    pub(in crate::data::publication) fn end(self) -> ReturnedState {
        let unread = self.channel.sender.take_unread(self.channel.number);
        self.end_with(unread)
    }

    /// Ends the path, where the subscriber may not read even messages that it still could.
    pub(in crate::data::publication) fn end_unread(self) -> ReturnedState {
        let unread = self.channel.sender.peek_unread(self.channel.number);
        self.end_with(unread)
    }

    fn end_with(mut self, unread: UnreadSamples) -> ReturnedState {
        // A falsified position can yield nonsense, which is dropped here and by the sender.
        let UnreadSamples { samples: unread, statements: mut unread_statements } = unread;
        let first_unread = unread.first().map(|sample| sample.number);
        let first_whole = unread.iter().find(|sample| sample.is_whole()).map(|sample| sample.number);
        let partly_read = self.partly_read(first_whole);
        if let Some(message) = &partly_read
            && first_unread.is_none_or(|first| message.number < first)
        {
            // Its beginning has been read, and no unread statement came before that.
            unread_statements.iter_mut().for_each(|(after, _)| *after = message.number.max(*after));
        }
        let mut returned: Vec<Numbered<Frame>> = partly_read.into_iter().collect();
        for UnreadSample { number, payload, .. } in unread.into_iter().filter(UnreadSample::is_whole) {
            if returned.last().is_none_or(|last| last.number < number) {
                let message = Frame::new(self.encoding, payload);
                returned.push(Numbered { number, bytes: message.as_ref().len(), message });
            }
        }
        let begun = self.begun.take().map(|(message, _)| message);
        returned.extend(begun.filter(|begun| returned.last().is_none_or(|last| last.number < begun.number)));
        self.delivery.0.path_down(MEMORY, returned);
        // It comes before all messages.
        let begin = std::iter::from_fn(|| self.delivery.0.poll_action()).find_map(|action| match action {
            SendAction::Begin { path: NETWORK, statement } => Some(statement),
            _ => None,
        });
        let SenderSnapshot { next_number, next_unsent: taken, messages, .. } = self.delivery.0.snapshot();
        let from = messages.first().map_or(next_number, |first| first.number);
        let mut lifespan = self.lifespan.take();
        let first = lifespan.as_mut().map_or(0, |lifespan| lifespan.drop_expired(clock::monotonic()));
        let written = |number| lifespan.as_ref().and_then(|lifespan| lifespan.write_time(number));
        let unsent = messages.into_iter().filter(|message| message.number >= first);
        // A long-lived queue must not occupy slots of shared memory.
        let unsent =
            unsent.map(|message| (message.number, written(message.number), message.message.to_own()));
        let mut statements = std::mem::take(&mut self.statements);
        // A message that the IPC connection refused counts as accepted. A statement before it stays before it.
        while let Some((before, statement)) = statements.pop_front_if(|(before, _)| *before < taken) {
            unread_statements.push((before.saturating_sub(1), statement));
        }
        ReturnedState { begin, taken, from, messages: unsent.collect(), unread_statements, statements }
    }

    /// A message of which the subscriber has read a part, where `first_whole` is the first of which it has read
    /// nothing. If the subscriber reads the rest as well, it detects the duplicate by the number.
    fn partly_read(&mut self, first_whole: Option<u64>) -> Option<Numbered<Frame>> {
        let read = self.channel.sender.read_position();
        let (_, message) = self.in_pieces.drain(..).find(|(end, _)| *end > read)?;
        first_whole.is_none_or(|first| message.number < first).then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use runnel_core::wire::Encoding;
    use runnel_delivery::{PairId, PathKind};
    use runnel_io::Token;

    use super::super::{Delivery, NetworkState};
    use super::*;
    use crate::data::stream_path::Channel;
    use crate::frame::QueueBound;
    use crate::ipc::Pool;
    use crate::ipc::play::ends::{End, connect};

    /// Longer than one record, shorter than the ring.
    const LONG: usize = 100_000;

    const BOUND: QueueBound = QueueBound { messages: 10, bytes: 1 << 20 };

    const STREAM: u64 = 5;

    /// A link whose messages shared memory carries, and the process at the other end.
    struct Scene {
        path: MemoryPath,
        here: End,
        there: End,
    }

    impl Scene {
        fn new() -> Self {
            let (here, there) = connect(&Arc::new(Pool::new(0, 0)));
            let network_state = NetworkState {
                network: PathKind::Tcpros,
                epoch: 1,
                reached: 1,
                unsent: 1,
                waiting: Vec::new(),
                next: 1,
            };
            let (delivery, begin) = Delivery::switch_to_memory(STREAM, network_state, BOUND, false).unwrap();
            let number = here.sender.open_samples(STREAM.into(), 1, &begin).unwrap();
            let channel = Channel { sender: Arc::clone(&here.sender), number };
            Self {
                path: MemoryPath::new((Token(0), channel), (delivery, BOUND), Encoding::Ros1),
                here,
                there,
            }
        }

        fn publish(&mut self, number: u64, len: usize) {
            assert_eq!(
                self.path.send_or_queue(number, &Frame::new(Encoding::Ros1, vec![number as u8; len])),
                0
            );
        }

        /// States something behind all messages published until now.
        fn state(&mut self, next: u64) -> Statement {
            let pair = PairId { writer: 1, reader: 2 };
            let statement = Statement::Leave { id: pair.id(), epoch: 1, from: next };
            self.path.statements.push_back((next, statement));
            self.path.flush();
            statement
        }

        /// The subscriber reads so many records, and then no more.
        fn end_after(mut self, records: usize) -> ReturnedState {
            (0..records).for_each(|_| drop(self.there.next().unwrap().expect("a record")));
            self.there.receiver.report_final_position();
            assert_eq!(self.here.sender.finish(), None);
            self.path.end()
        }
    }

    fn numbers(ended: &ReturnedState) -> Vec<u64> {
        assert!(ended.messages.iter().all(|(.., frame)| frame.encoding() == Encoding::Ros1));
        ended.messages.iter().map(|(number, ..)| *number).collect()
    }

    #[test]
    fn statement_stays_behind_partly_read_message() {
        let mut scene = Scene::new();
        scene.publish(1, LONG);
        let statement = scene.state(2);
        scene.publish(2, 1);
        // The Begin of the channel, and the first piece of the message.
        let ended = scene.end_after(2);
        assert_eq!((numbers(&ended), ended.unread_statements), (vec![1, 2], vec![(1, statement)]));
    }

    #[test]
    fn statement_stays_before_refused_message() {
        let mut scene = Scene::new();
        scene.there.receiver.report_final_position();
        assert_eq!(scene.here.sender.finish(), None);
        let statement = scene.state(1);
        scene.publish(1, 1);
        let ended = scene.path.end();
        assert_eq!((numbers(&ended), ended.unread_statements), (vec![1], vec![(0, statement)]));
        assert!(ended.statements.is_empty());
    }

    #[test]
    fn statement_stays_before_unread_message() {
        let mut scene = Scene::new();
        let statement = scene.state(1);
        scene.publish(1, LONG);
        let ended = scene.end_after(1);
        assert_eq!((numbers(&ended), ended.unread_statements), (vec![1], vec![(0, statement)]));
    }
}
