//! Allocation test: while a path is active, neither end allocates for a message or makes a statement.

use runnel_delivery::{
    Credit, Path, PathId, PathKind, QueuePolicy, ReceiveAction, Receiver, SendAction, Sender, SenderOptions,
    Statement, StreamId,
};
use runnel_testkit::counting_allocator::{CountingAllocator, allocations_of_thread};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const ID: StreamId = StreamId { stream: 9, subscription: 0 };
const PATH: PathId = PathId(1);

struct Pair {
    sender: Sender<u64>,
    receiver: Receiver<u64>,
    statements: u64,
    in_order: u64,
    delivered: u64,
}

impl Pair {
    fn new(kind: PathKind) -> Self {
        let policy = QueuePolicy::KeepLast { depth: 10 };
        let credit = Credit::DEFAULT;
        let sender = Sender::new(SenderOptions { id: ID, first: 1, policy, max_bytes: 1 << 20, credit });
        let receiver = Receiver::new(ID, credit);
        let mut pair = Self { sender, receiver, statements: 0, in_order: 0, delivered: 0 };
        pair.sender.path_up(Path::new(PATH, kind)).unwrap();
        pair.receiver.path_up(Path::new(PATH, kind)).unwrap();
        pair
    }

    fn send(&mut self) {
        while let Some(action) = self.sender.poll_action() {
            match action {
                SendAction::Begin { statement: Statement::Begin { epoch, from, is_settled, .. }, .. } => {
                    self.statements += 1;
                    self.receiver.begin(PATH, epoch, from, is_settled).unwrap();
                }
                SendAction::Send { message, .. } => {
                    if self.receiver.accept_in_order(PATH, message.number) {
                        self.in_order += 1;
                    } else {
                        self.receiver.message(PATH, message.number, message.message, message.bytes).unwrap();
                    }
                }
                other => panic!("{other:?}"),
            }
            self.receive();
        }
    }

    fn receive(&mut self) {
        while let Some(action) = self.receiver.poll_action() {
            match action {
                ReceiveAction::Deliver { .. } => self.delivered += 1,
                ReceiveAction::Reached { statement: Statement::Reached { epoch, next, .. }, .. } => {
                    self.statements += 1;
                    self.sender.reached(epoch, next).unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Publishes a range of messages; returns the number of allocations.
    fn row(&mut self, numbers: std::ops::Range<u64>) -> u64 {
        let before = allocations_of_thread();
        for number in numbers {
            self.sender.publish(number, number, 100).unwrap();
            self.send();
        }
        allocations_of_thread() - before
    }
}

#[test]
fn active_path_costs_no_allocation_and_no_statement() {
    for kind in [PathKind::InProcess, PathKind::SharedMemory, PathKind::RtpsReliable, PathKind::Tcpros] {
        let mut pair = Pair::new(kind);
        pair.row(1..10);
        let statements = pair.statements;
        assert_eq!(pair.row(10..10_010), 0, "{kind:?}");
        assert_eq!(pair.statements, statements, "{kind:?}");
        assert_eq!(pair.in_order + pair.delivered, 10_009, "{kind:?}");
        assert!(pair.in_order >= 10_000, "{kind:?}");
    }
}

#[test]
fn shared_write_costs_sender_no_allocation() {
    let mut pair = Pair::new(PathKind::RtpsReliable);
    pair.row(1..10);
    let before = allocations_of_thread();
    assert!(pair.sender.carried_until(PATH, 1_000_000));
    assert_eq!((pair.sender.poll_action(), allocations_of_thread()), (None, before));
    pair.sender.publish(1_000_000, 0, 1).unwrap();
    assert!(matches!(pair.sender.poll_action(), Some(SendAction::Send { .. })));
}

#[test]
fn reporting_path_costs_no_allocation() {
    let mut pair = Pair::new(PathKind::Relay);
    pair.receiver.report_every(100);
    pair.row(1..300);
    let statements = pair.statements;
    assert_eq!(pair.row(300..10_300), 0);
    assert_eq!(pair.statements - statements, 100);
}
