//! Flow control: the subscriber holds messages and reports the position of its user, and the sender keeps to the
//! credit.

use runnel_delivery::{
    Credit, Numbered, Path, PathId, PathKind, QueuePolicy, ReceiveAction, Receiver, SendAction, Sender,
    SenderOptions, SenderState, Statement,
};

use crate::world::ID;

const MEMORY: PathId = PathId(1);
const CREDIT: Credit = Credit { messages: 8, bytes: 100 };

/// Creates both ends of a pair that is active in memory.
fn paced() -> (Sender<u64>, Receiver<u64>) {
    let policy = QueuePolicy::KeepLast { depth: 1000 };
    let mut sender =
        Sender::new(SenderOptions { id: ID, first: 1, policy, max_bytes: usize::MAX, credit: CREDIT });
    sender.pace();
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    let mut receiver = Receiver::new(ID, CREDIT);
    receiver.report_every(4);
    receiver.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    carry(&mut sender, &mut receiver);
    take(&mut sender, &mut receiver, 0);
    assert_eq!(sender.state(), SenderState::Active { path: MEMORY });
    (sender, receiver)
}

fn publish(sender: &mut Sender<u64>, numbers: std::ops::RangeInclusive<u64>, bytes: usize) {
    numbers.for_each(|number| {
        sender.publish(number, number, bytes).unwrap();
    });
}

/// Passes messages from the sender to the receiver; returns their number.
fn carry(sender: &mut Sender<u64>, receiver: &mut Receiver<u64>) -> usize {
    let mut count = 0;
    while let Some(action) = sender.poll_action() {
        match action {
            SendAction::Begin { statement: Statement::Begin { epoch, from, .. }, .. } => {
                receiver.begin(MEMORY, epoch, from, false).unwrap();
            }
            SendAction::Send { message: Numbered { number, bytes, message }, .. } => {
                assert!(!receiver.accept_in_order(MEMORY, number), "each one counts for the report");
                receiver.message(MEMORY, number, message, bytes).unwrap();
                count += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    count
}

/// Takes at most `most` messages, and passes the receiver's reports to the sender.
fn take(sender: &mut Sender<u64>, receiver: &mut Receiver<u64>, most: usize) -> Vec<u64> {
    let mut taken = Vec::new();
    loop {
        let is_done = taken.len() == most && receiver.held() > 0;
        let action = if is_done { receiver.poll_report() } else { receiver.poll_action() };
        match action {
            Some(ReceiveAction::Deliver { message, .. }) => taken.push(message),
            Some(ReceiveAction::Reached { statement: Statement::Reached { epoch, next, .. }, .. }) => {
                sender.reached(epoch, next).unwrap();
            }
            Some(other) => panic!("{other:?}"),
            None => return taken,
        }
    }
}

#[test]
fn paced_sender_keeps_to_the_credit_while_active() {
    let (mut sender, mut receiver) = paced();
    assert!(!sender.is_steady(MEMORY) && !sender.carried_until(MEMORY, 2));
    publish(&mut sender, 1..=20, 1);
    assert_eq!((carry(&mut sender, &mut receiver), receiver.held(), sender.queue_len()), (8, 8, 12));
    assert_eq!(take(&mut sender, &mut receiver, 3), [1, 2, 3]);
    assert_eq!(carry(&mut sender, &mut receiver), 0, "not reported yet");
    assert_eq!(take(&mut sender, &mut receiver, 1), [4]);
    assert_eq!(carry(&mut sender, &mut receiver), 4);
}

#[test]
fn report_is_due_by_bytes_too() {
    let (mut sender, mut receiver) = paced();
    publish(&mut sender, 1..=3, 30);
    assert_eq!(carry(&mut sender, &mut receiver), 3);
    assert_eq!(take(&mut sender, &mut receiver, 1), [1]);
    assert_eq!(sender.highest_reached(), 2, "30 of 100 bytes");
}

#[test]
fn one_message_may_exceed_the_bytes_of_the_credit() {
    let (mut sender, mut receiver) = paced();
    publish(&mut sender, 1..=3, 90);
    publish(&mut sender, 4..=4, 1000);
    assert_eq!((carry(&mut sender, &mut receiver), receiver.held_bytes()), (2, 180));
    assert_eq!(take(&mut sender, &mut receiver, 1), [1]);
    assert_eq!(carry(&mut sender, &mut receiver), 1);
    assert_eq!(take(&mut sender, &mut receiver, 1), [2]);
    assert_eq!((carry(&mut sender, &mut receiver), receiver.held_bytes()), (1, 1090));
}

#[test]
fn paced_pair_never_stalls() {
    let (mut sender, mut receiver) = paced();
    let mut random = 7_u64;
    let mut next_random = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let (mut published, mut taken) = (0, Vec::new());
    for _ in 0..20_000 {
        if sender.queue_len() < 50 {
            published += 1;
            let bytes = [0, 1, 20, 60, 99, 100, 500][next_random(7) as usize];
            publish(&mut sender, published..=published, bytes);
        }
        carry(&mut sender, &mut receiver);
        assert!(receiver.held() <= 8 && receiver.held_bytes() < 600);
        let most = next_random(4) as usize;
        taken.extend(take(&mut sender, &mut receiver, most));
    }
    for _ in 0..100 {
        carry(&mut sender, &mut receiver);
        taken.extend(take(&mut sender, &mut receiver, usize::MAX));
    }
    assert!(taken.iter().copied().eq(1..=published), "{} of {published}", taken.len());
}

#[test]
fn unsent_message_is_next_or_dropped() {
    let policy = QueuePolicy::KeepLast { depth: 2 };
    let options = SenderOptions { id: ID, first: 1, policy, max_bytes: usize::MAX, credit: Credit::DEFAULT };
    let mut sender = Sender::new(options);
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    assert!(matches!(sender.poll_action(), Some(SendAction::Begin { .. })));
    sender.reached(1, 1).unwrap();
    assert!(sender.is_steady(MEMORY));
    publish(&mut sender, 1..=2, 1);
    let Some(SendAction::Send { path, message }) = sender.poll_action() else { panic!("a message") };
    sender.return_unsent(path, message);
    assert_eq!((sender.poll_action(), sender.queued().collect::<Vec<_>>()), (None, vec![1, 2]));
    assert!(!sender.is_steady(MEMORY));
    publish(&mut sender, 3..=3, 1);
    sender.path_writable(MEMORY);
    assert!(matches!(sender.poll_action(), Some(SendAction::Skip { from: 1, to: 2, .. })));
    assert!(matches!(sender.poll_action(), Some(SendAction::Send { message, .. }) if message.number == 2));
    assert_eq!(sender.dropped(), 1);
}

#[test]
fn expired_messages_are_skipped_and_not_counted_as_dropped() {
    let policy = QueuePolicy::KeepLast { depth: 9 };
    let options = SenderOptions { id: ID, first: 1, policy, max_bytes: usize::MAX, credit: Credit::DEFAULT };
    let mut sender = Sender::new(options);
    publish(&mut sender, 1..=3, 1);
    assert_eq!(sender.expire_before(3), 2);
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    assert!(matches!(sender.poll_action(), Some(SendAction::Begin { .. })));
    assert!(matches!(sender.poll_action(), Some(SendAction::Skip { from: 1, to: 3, .. })));
    assert!(matches!(sender.poll_action(), Some(SendAction::Send { message, .. }) if message.number == 3));
    assert_eq!(sender.dropped(), 0);
}
