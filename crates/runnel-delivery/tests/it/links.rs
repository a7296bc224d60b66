//! Shared TCPROS link of several subscriptions: a sender and a receiver each, and one numbering.

use std::collections::VecDeque;

use runnel_delivery::{
    Credit, LinkNumbering, Path, PathId, PathKind, QueuePolicy, ReceiveAction, Receiver, SendAction, Sender,
    SenderOptions, Statement, StreamId,
};

use crate::random::Random;

const LINK: PathId = PathId(1);
const OWN: PathId = PathId(2);

/// Frame of the link: a statement or a message without a number.
enum Frame {
    Statement(Statement),
    Message(u64),
}

/// One subscription: both ends, and an ordered path of its own.
struct Pair {
    id: StreamId,
    sender: Sender<u64>,
    receiver: Receiver<u64>,
    own: VecDeque<Result<Statement, u64>>,
    delivered: Vec<u64>,
    reached: Option<(u32, u64)>,
}

impl Pair {
    fn new(subscription: u16) -> Self {
        let id = StreamId { stream: 77, subscription };
        let policy = QueuePolicy::KeepAll { limit: 1000 };
        let credit = Credit { messages: 6, bytes: usize::MAX };
        let mut sender = Sender::new(SenderOptions { id, first: 1, policy, max_bytes: usize::MAX, credit });
        let mut receiver = Receiver::new(id, credit);
        for path in [Path::new(LINK, PathKind::Tcpros), Path::new(OWN, PathKind::SharedMemory)] {
            sender.path_up(path).unwrap();
            receiver.path_up(path).unwrap();
        }
        Self { id, sender, receiver, own: VecDeque::new(), delivered: Vec::new(), reached: None }
    }

    fn state(&mut self, path: PathId, statement: Statement) {
        match statement {
            Statement::Begin { epoch, from, is_settled, .. } => {
                self.receiver.begin(path, epoch, from, is_settled).unwrap();
            }
            Statement::Skip { to, .. } => self.receiver.skip(path, to).unwrap(),
            _ => {}
        }
        self.poll();
    }

    fn message_arrives(&mut self, path: PathId, number: u64) {
        if self.receiver.accept_in_order(path, number) {
            return self.delivered.push(number);
        }
        self.receiver.message(path, number, number, 1).unwrap();
        self.poll();
    }

    fn poll(&mut self) {
        while let Some(action) = self.receiver.poll_action() {
            match action {
                ReceiveAction::Deliver { message, .. } => self.delivered.push(message),
                ReceiveAction::Reached { statement: Statement::Reached { epoch, next, .. }, .. } => {
                    self.reached = Some((epoch, next));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

struct Link {
    writer: LinkNumbering,
    reader: LinkNumbering,
    frames: VecDeque<Frame>,
    messages: u64,
}

impl Link {
    fn write(&mut self, statement: Statement) {
        self.writer.note(&statement);
        self.frames.push_back(Frame::Statement(statement));
    }

    fn send(&mut self, id: StreamId, number: u64) {
        if let Some(statement) = self.writer.before_message(id, number) {
            self.frames.push_back(Frame::Statement(statement));
        }
        self.frames.push_back(Frame::Message(number));
        self.messages += 1;
    }

    fn read(&mut self, pairs: &mut [Pair]) {
        match self.frames.pop_front() {
            None => {}
            Some(Frame::Statement(statement)) => {
                self.reader.note(&statement);
                let of = statement.id();
                pairs.iter_mut().filter(|pair| pair.id == of).for_each(|pair| pair.state(LINK, statement));
            }
            Some(Frame::Message(message)) => {
                let (stream, number) = self.reader.message().unwrap();
                assert_eq!((stream, number), (77, message), "both ends count alike");
                pairs.iter_mut().for_each(|pair| pair.message_arrives(LINK, number));
            }
        }
    }
}

/// Executes the action of one pair; a message on the link is carried for the others as well.
fn act(pairs: &mut [Pair], index: usize, link: &mut Link) {
    let id = pairs[index].id;
    match pairs[index].sender.poll_action() {
        Some(
            SendAction::Begin { path: LINK, statement } | SendAction::Skip { path: LINK, statement, .. },
        ) => {
            link.write(statement);
        }
        Some(SendAction::Begin { statement, .. } | SendAction::Skip { statement, .. }) => {
            pairs[index].own.push_back(Ok(statement));
        }
        Some(SendAction::Send { path: LINK, message }) => {
            link.send(id, message.number);
            for other in pairs.iter_mut() {
                other.sender.carried(LINK, message.number);
            }
        }
        Some(SendAction::Send { message, .. }) => pairs[index].own.push_back(Err(message.number)),
        Some(other) => panic!("{other:?}"),
        None => {}
    }
}

fn step(pairs: &mut [Pair], link: &mut Link, switches: bool, random: &mut Random) {
    let index = random.below(pairs.len() as u64) as usize;
    match random.below(5) {
        0 => act(pairs, index, link),
        1 => link.read(pairs),
        2 => match pairs[index].own.pop_front() {
            Some(Ok(statement)) => pairs[index].state(OWN, statement),
            Some(Err(number)) => pairs[index].message_arrives(OWN, number),
            None => {}
        },
        3 => {
            if let Some((epoch, next)) = pairs[index].reached.take() {
                pairs[index].sender.reached(epoch, next).unwrap();
            }
        }
        _ if switches && random.one_in(10) => {
            let to = if random.one_in(2) { OWN } else { LINK };
            let _ = pairs[index].sender.switch_path(to);
        }
        _ => {}
    }
}

fn run(seed: u64, count: u64, switches: bool) -> Link {
    const MESSAGES: u64 = 200;
    let mut random = Random::new(seed);
    let mut pairs: Vec<Pair> = (0..count).map(|index| Pair::new(index as u16)).collect();
    let (writer, reader) = (LinkNumbering::new(), LinkNumbering::new());
    let mut link = Link { writer, reader, frames: VecDeque::new(), messages: 0 };
    for number in 1..=MESSAGES {
        pairs.iter_mut().for_each(|pair| {
            pair.sender.publish(number, number, 1).unwrap();
        });
        (0..20).for_each(|_| step(&mut pairs, &mut link, switches, &mut random));
    }
    (0..100_000).for_each(|_| step(&mut pairs, &mut link, false, &mut random));
    for pair in &pairs {
        assert!(pair.delivered.iter().copied().eq(1..=MESSAGES), "seed {seed}, {:?}", pair.id);
    }
    link
}

#[test]
fn each_subscription_gets_each_message_once() {
    (0..10).for_each(|seed| {
        run(seed, 3, true);
    });
}

#[test]
fn link_carries_message_once_for_all() {
    let link = run(1, 3, false);
    // Until each Begin is answered, a subscription may lag behind another by its credit.
    assert!(link.messages <= 200 + 2 * 6, "{} messages", link.messages);
}
