//! Pair of a writer and a reader with a memory path. Either end has its half of the delivery state machine while memory
//! is in use.

use std::collections::VecDeque;

use crate::net::{Net, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_delivery::{
    Credit, Numbered, Path, PathId, PathKind, QueuePolicy, ReceiveAction, Receiver, SendAction, Sender,
    SenderSnapshot, Statement, StreamId,
};
use runnel_rtps::Event;
use runnel_rtps::wire::{EntityId, Guid, SequenceNumber};

const TOPIC: &str = "rt/chatter";
const ID: StreamId = StreamId { stream: 1, subscription: 0 };
const RTPS: PathId = PathId(0);

/// The sender's path id of memory. The receiver has a new one for each use.
const MEMORY: PathId = PathId(1);

/// Records in flight in memory, in order and without loss.
enum Record {
    Begin { first_unacknowledged: u64, from: u64 },
    Sample(Numbered<Vec<u8>>),
    Skip(u64),
}

/// The reader's half.
struct Delivery {
    receiver: Receiver<Vec<u8>>,
    memory: PathId,
    /// Memory is in use.
    is_open: bool,
    /// The first sample of memory, and the number after its last one.
    first: u64,
    position: u64,
}

/// A writer and a reader.
pub struct Pair {
    pub net: Net,
    pub writer: EntityId,
    pub reader: EntityId,
    pub written: u32,
    /// Samples that the user received, and the number of reported losses.
    pub delivered: Vec<u32>,
    pub lost: u64,
    kind: PathKind,
    sender: Option<Sender<Vec<u8>>>,
    memory: VecDeque<Record>,
    delivery: Option<Delivery>,
    /// Number of samples and events that RTPS has delivered.
    taken: (usize, usize),
}

impl Pair {
    pub fn new(seed: u64, qos: QoS) -> Self {
        let mut net = Net::new(seed);
        let (a, b) = (net.add(), net.add());
        let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
        net.run_until("the endpoints match", secs(2), |net| {
            net.is_matched(0, writer) && net.is_matched(1, reader)
        });
        let ours = net.nodes[0].participant.prefix().with(writer);
        let is_reliable = net.nodes[1].participant.is_reliable_pair(reader, ours);
        Self {
            net,
            writer,
            reader,
            written: 0,
            delivered: Vec::new(),
            lost: 0,
            kind: if is_reliable { PathKind::RtpsReliable } else { PathKind::RtpsBestEffort },
            sender: None,
            memory: VecDeque::new(),
            delivery: None,
            taken: (0, 0),
        }
    }

    pub fn ours(&self) -> Guid {
        self.net.nodes[0].participant.prefix().with(self.writer)
    }

    fn theirs(&self) -> Guid {
        self.net.nodes[1].participant.prefix().with(self.reader)
    }

    /// Returns whether the writer's samples use memory.
    pub fn is_in_memory(&self) -> bool {
        self.sender.is_some()
    }

    /// Returns the number of samples that the reader holds.
    pub fn held(&self) -> usize {
        self.delivery.as_ref().map_or(0, |delivery| delivery.receiver.held())
    }

    /// Returns the numbers of records in flight, and of samples that wait for the sender.
    pub fn in_flight(&self) -> (usize, usize) {
        (self.memory.len(), self.sender.as_ref().map_or(0, Sender::queue_len))
    }

    pub fn write(&mut self) {
        let bytes = sample(self.written, 100);
        self.net.write(0, self.writer, &bytes).unwrap();
        self.written += 1;
        let number = self.net.nodes[0].participant.last_number(self.writer).unwrap().0 as u64;
        if let Some(sender) = &mut self.sender {
            sender.publish(number, bytes, 100).unwrap();
            self.pump();
        }
    }

    /// Switches the writer's samples to memory.
    pub fn switch_to_memory(&mut self) {
        let theirs = self.theirs();
        let suspended = self.net.nodes[0].participant.suspend(self.writer, theirs).unwrap();
        let (first, next) = (suspended.first_unacknowledged.0 as u64, suspended.next.0 as u64);
        let snapshot = SenderSnapshot {
            id: ID,
            next_number: next,
            epoch: 0,
            reached: first,
            from: first,
            next_unsent: next,
            is_settled: false,
            dropped: 0,
            messages: Vec::new(),
        };
        let policy = QueuePolicy::KeepLast { depth: 10_000 };
        let mut sender = Sender::resume(snapshot, policy, usize::MAX, Credit::DEFAULT);
        sender.path_up(Path::new(RTPS, PathKind::RtpsReliable)).unwrap();
        sender.reached(sender.epoch(), first).unwrap();
        sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
        sender.switch_path(MEMORY).unwrap();
        self.sender = Some(sender);
        self.memory.push_back(Record::Begin { first_unacknowledged: first, from: next });
        self.pump();
    }

    fn pump(&mut self) {
        let Some(sender) = &mut self.sender else { return };
        for action in std::iter::from_fn(|| sender.poll_action()) {
            match action {
                SendAction::Send { message, .. } => self.memory.push_back(Record::Sample(message)),
                SendAction::Skip { path: MEMORY, to, .. } => self.memory.push_back(Record::Skip(to)),
                SendAction::Begin { .. } | SendAction::Skip { .. } | SendAction::Close { .. } => {}
            }
        }
    }

    /// Receives at most `most` records of memory.
    pub fn arrive(&mut self, most: usize) {
        for _ in 0..most {
            let Some(record) = self.memory.pop_front() else { return };
            self.take_rtps();
            match record {
                Record::Begin { first_unacknowledged, from } => self.begin(first_unacknowledged, from),
                Record::Sample(Numbered { number, bytes, message }) => {
                    let delivery = self.delivery.as_mut().expect("it follows a Begin");
                    delivery.receiver.message(delivery.memory, number, message, bytes).unwrap();
                    delivery.position = number + 1;
                }
                Record::Skip(to) => {
                    let delivery = self.delivery.as_mut().expect("it follows a Begin");
                    delivery.receiver.skip(delivery.memory, to).unwrap();
                    delivery.position = to;
                }
            }
            self.deliver();
        }
    }

    fn begin(&mut self, first_unacknowledged: u64, from: u64) {
        let due = self.net.nodes[1].participant.next_due(self.reader, self.ours());
        let next = match due.map(|due| due.0 as u64) {
            None | Some(1) if self.kind == PathKind::RtpsBestEffort => from,
            due => due.unwrap_or(first_unacknowledged),
        };
        let kind = self.kind;
        let delivery = self.delivery.get_or_insert_with(|| {
            let mut receiver = Receiver::new(ID, Credit::DEFAULT);
            receiver.path_up(Path::new(RTPS, kind)).unwrap();
            receiver.begin(RTPS, 1, next, false).unwrap();
            Delivery { receiver, memory: RTPS, is_open: false, first: 0, position: 0 }
        });
        delivery.memory = PathId(delivery.memory.0 + 1);
        (delivery.is_open, delivery.first, delivery.position) = (true, from, from);
        let Delivery { receiver, memory, .. } = delivery;
        receiver.path_up(Path::new(*memory, PathKind::SharedMemory)).unwrap();
        receiver.begin(*memory, receiver.epoch() + 1, from, false).unwrap();
    }

    /// Receives the samples of RTPS, and reports the position to the receiver.
    pub fn take_rtps(&mut self) {
        let samples: Vec<u32> =
            self.net.texts(1, self.reader).iter().skip(self.taken.0).map(|bytes| number_of(bytes)).collect();
        self.taken.0 += samples.len();
        for index in samples {
            match &mut self.delivery {
                None => self.delivered.push(index),
                Some(Delivery { receiver, .. }) => {
                    let number = u64::from(index) + 1;
                    receiver.skip(RTPS, number).unwrap();
                    receiver.message(RTPS, number, sample(index, 100), 100).unwrap();
                }
            }
        }
        let events = self.net.nodes[1].events.iter().skip(self.taken.1);
        let lost = |event: &Event| if let Event::SampleLost { count, .. } = event { *count } else { 0 };
        let lost: u64 = events.map(lost).sum();
        self.taken.1 = self.net.nodes[1].events.len();
        let passed = self.net.nodes[1].participant.passed_before(self.reader, self.ours());
        match (&mut self.delivery, passed) {
            (None, _) => self.lost += lost,
            (Some(Delivery { receiver, .. }), Some(passed)) => receiver.skip(RTPS, passed.0 as u64).unwrap(),
            _ => {}
        }
        self.deliver();
    }

    fn deliver(&mut self) {
        let Some(Delivery { receiver, is_open, .. }) = &mut self.delivery else { return };
        for action in std::iter::from_fn(|| receiver.poll_action()) {
            match action {
                ReceiveAction::Deliver { message, .. } => self.delivered.push(number_of(&message)),
                ReceiveAction::Lost { count, .. } => self.lost += count,
                ReceiveAction::Reached { statement: Statement::Reached { next, .. }, .. } if *is_open => {
                    let sender = self.sender.as_mut().expect("memory is in use");
                    sender.reached(sender.epoch(), next).unwrap();
                }
                ReceiveAction::Reached { .. } | ReceiveAction::Close { .. } => {}
                ReceiveAction::DrainPath { .. } => {}
            }
        }
        if self.kind == PathKind::RtpsBestEffort && *is_open {
            receiver.path_drained(RTPS);
        }
        if !*is_open && receiver.held() == 0 {
            self.delivery = None;
        }
        self.pump();
    }

    /// Ends memory, with its records in flight.
    pub fn return_to_rtps(&mut self) {
        self.take_rtps();
        self.end_at_reader();
        self.end_at_writer();
    }

    /// Ends the reader's half: RTPS delivers the samples that memory did not.
    pub fn end_at_reader(&mut self) {
        let (now, pair) = (self.net.now, (self.reader, self.ours()));
        let Some(delivery) = self.delivery.as_mut().filter(|delivery| delivery.is_open) else { return };
        delivery.is_open = false;
        let Delivery { receiver, memory, .. } = delivery;
        let next = receiver.next();
        receiver.path_down(*memory);
        receiver.begin(RTPS, receiver.epoch() + 1, next, false).unwrap();
        let from = if next < delivery.first { delivery.first } else { 1 };
        let [from, to] = [from, delivery.position].map(|number| SequenceNumber(number as i64));
        self.net.nodes[1].participant.note_received(now, pair, from, to);
        self.deliver();
        self.net.touch(1);
    }

    fn end_at_writer(&mut self) {
        let (now, stamp, theirs) = (self.net.now, self.net.stamp(), self.theirs());
        let mut sender = self.sender.take().expect("memory is in use");
        let unread = self.memory.drain(..).filter_map(|record| match record {
            Record::Sample(message) => Some(message),
            Record::Begin { .. } | Record::Skip(_) => None,
        });
        sender.path_down(MEMORY, unread);
        let SenderSnapshot { next_number, messages, .. } = sender.snapshot();
        let sequence = |number: u64| SequenceNumber(number as i64);
        let from = sequence(messages.first().map_or(next_number, |first| first.number));
        let unsent = messages
            .into_iter()
            .map(|Numbered { number, message, .. }| (sequence(number), now, message.as_slice().into()));
        self.net.nodes[0].participant.resume(now, stamp, (self.writer, theirs), from, unsent);
        self.net.touch(0);
    }
}
