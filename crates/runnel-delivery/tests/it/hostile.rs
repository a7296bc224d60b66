//! Hostile peers: arbitrary input causes no panic, and no more memory than the limits.

use proptest::prelude::*;
use runnel_delivery::{
    Credit, MAX_EPOCH_LEAP, MAX_NUMBER, MAX_NUMBER_LEAP, MAX_PATHS, MAX_SEGMENTS, Numbered, Path, PathError,
    PathId, PathKind, QueuePolicy, ReachedError, ReceiveError, Receiver, Sender, SenderOptions,
};

use crate::world::ID;

const CREDIT: Credit = Credit { messages: 8, bytes: 1000 };

/// One action of a hostile publisher.
#[derive(Clone, Debug)]
enum Attack {
    Begin(u32, u32, u64, bool),
    Skip(u32, u64),
    Gap(u32, u64, u64),
    Message(u32, u64, usize),
    InOrder(u32, u64),
    Unnumbered(u32, usize),
    Down(u32),
    Up(u32),
    Drained(u32),
    Poll,
}

/// Numbers near each other, and at the ends of ranges.
fn number() -> impl Strategy<Value = u64> {
    let ends =
        [0, 1, u64::MAX, MAX_NUMBER, MAX_NUMBER + 1, MAX_NUMBER - 1, MAX_NUMBER_LEAP, MAX_NUMBER_LEAP + 9];
    prop_oneof![8 => 0..30u64, 1 => prop::sample::select(ends.to_vec()), 1 => any::<u64>()]
}

fn epoch() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0..12u32, 1 => prop::sample::select(vec![u32::MAX, MAX_EPOCH_LEAP, u32::MAX - 1])]
}

fn bytes() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..600usize, 1 => Just(usize::MAX)]
}

fn attack() -> impl Strategy<Value = Attack> {
    let path = 0..6u32;
    prop_oneof![
        4 => (path.clone(), epoch(), number(), any::<bool>()).prop_map(|(p, e, n, s)| Attack::Begin(p, e, n, s)),
        2 => (path.clone(), number()).prop_map(|(p, n)| Attack::Skip(p, n)),
        2 => (path.clone(), number(), number()).prop_map(|(p, a, b)| Attack::Gap(p, a, b)),
        8 => (path.clone(), number(), bytes()).prop_map(|(p, n, b)| Attack::Message(p, n, b)),
        2 => (path.clone(), number()).prop_map(|(p, n)| Attack::InOrder(p, n)),
        4 => (path.clone(), bytes()).prop_map(|(p, b)| Attack::Unnumbered(p, b)),
        1 => path.clone().prop_map(Attack::Down),
        1 => path.clone().prop_map(Attack::Up),
        1 => path.prop_map(Attack::Drained),
        6 => Just(Attack::Poll),
    ]
}

fn path(id: u32) -> Path {
    let kinds = [PathKind::SharedMemory, PathKind::Tcpros, PathKind::RtpsReliable, PathKind::RtpsBestEffort];
    match kinds.get(id as usize) {
        Some(kind) => Path::new(PathId(id), *kind),
        None => Path::plain(PathId(id), PathKind::Tcpros),
    }
}

/// Applies an attack; returns the number of a message that was accepted in order.
fn apply_attack(receiver: &mut Receiver<u64>, attack: &Attack) -> Option<u64> {
    match *attack {
        Attack::Begin(id, epoch, from, is_settled) => {
            let _ = receiver.begin(PathId(id), epoch, from, is_settled);
        }
        Attack::Skip(id, to) => {
            let _ = receiver.skip(PathId(id), to);
        }
        Attack::Gap(id, from, to) => {
            let _ = receiver.gap(PathId(id), from, to);
        }
        Attack::Message(id, number, bytes) => {
            let _ = receiver.message(PathId(id), number, number, bytes);
        }
        Attack::InOrder(id, number) => {
            return receiver.accept_in_order(PathId(id), number).then_some(number);
        }
        Attack::Unnumbered(id, bytes) => {
            if !receiver.accept_unnumbered(PathId(id)) {
                let _ = receiver.message_unnumbered(PathId(id), 0, bytes);
            }
        }
        Attack::Down(id) => receiver.path_down(PathId(id)),
        Attack::Up(id) => {
            let _ = receiver.path_up(path(id));
        }
        Attack::Drained(id) => receiver.path_drained(PathId(id)),
        Attack::Poll => {}
    }
    None
}

/// Polls until no action is left; returns the delivered numbers.
fn poll_all(receiver: &mut Receiver<u64>) -> Vec<u64> {
    let mut delivered = Vec::new();
    // Each action consumes something limited.
    for _ in 0..1000 {
        match receiver.poll_action() {
            None => return delivered,
            Some(runnel_delivery::ReceiveAction::Deliver { number, .. }) => delivered.extend(number),
            Some(_) => {}
        }
    }
    panic!("the receiver always has something to do");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn hostile_publisher_stays_within_limits(attacks in prop::collection::vec(attack(), 1..80)) {
        let mut receiver = Receiver::new(ID, CREDIT);
        (0..5).for_each(|id| receiver.path_up(path(id)).unwrap());
        for attack in &attacks {
            apply_attack(&mut receiver, attack);
            if matches!(attack, Attack::Poll) {
                poll_all(&mut receiver);
            }
            // Window, two queues without numbers, and the messages after a deferred Begin.
            prop_assert!(receiver.held() <= 4 * CREDIT.messages as usize + 1);
            prop_assert!(receiver.next() <= MAX_NUMBER + 1);
        }
    }

    #[test]
    fn hostile_publisher_gets_no_message_delivered_twice(attacks in prop::collection::vec(attack(), 1..80)) {
        let mut receiver = Receiver::new(ID, CREDIT);
        (0..4).for_each(|id| receiver.path_up(path(id)).unwrap());
        let mut last = 0;
        for attack in attacks.iter().filter(|attack| !matches!(attack, Attack::Up(_))) {
            let in_order = apply_attack(&mut receiver, attack);
            for number in in_order.into_iter().chain(poll_all(&mut receiver)) {
                prop_assert!(number > last, "{} after {}", number, last);
                last = number;
            }
        }
    }

    #[test]
    fn hostile_subscriber_costs_only_itself(
        reports in prop::collection::vec((epoch(), number()), 1..40),
        returned in prop::collection::vec((number(), bytes()), 0..40),
    ) {
        let policy = QueuePolicy::KeepLast { depth: 4 };
        let options = SenderOptions { id: ID, first: 1, policy, max_bytes: 1000, credit: CREDIT };
        let mut sender = Sender::new(options);
        sender.path_up(path(0)).unwrap();
        let mut number = 0;
        for (epoch, next) in reports {
            number += 1;
            sender.publish(number, number, 10).unwrap();
            let _ = sender.reached(epoch, next);
            prop_assert!(sender.highest_reached() <= number + 1);
            for _ in 0..number % 3 {
                sender.poll_action();
            }
        }
        let returned = returned.into_iter().map(|(number, bytes)| Numbered { number, bytes, message: number });
        sender.path_down(PathId(0), returned);
        prop_assert!(sender.queued().all(|queued| (1..=number).contains(&queued)));
        prop_assert!(sender.queue_len() as u64 <= number);
    }
}

#[test]
fn far_epochs_and_numbers_are_refused() {
    let mut receiver = Receiver::<()>::new(ID, CREDIT);
    receiver.path_up(path(0)).unwrap();
    let id = PathId(0);
    assert_eq!(receiver.begin(id, 0, 1, false), Err(ReceiveError::EpochLeap(0)));
    assert_eq!(receiver.begin(id, 1, 0, false), Err(ReceiveError::NumberOutOfRange(0)));
    receiver.begin(id, 1, 10, false).unwrap();
    let far = 2 + MAX_EPOCH_LEAP;
    assert_eq!(receiver.begin(id, far, 10, false), Err(ReceiveError::EpochLeap(far)));
    let far = 11 + MAX_NUMBER_LEAP;
    assert_eq!(receiver.begin(id, 2, far, false), Err(ReceiveError::NumberLeap(far)));
    assert_eq!(receiver.skip(id, far), Err(ReceiveError::NumberLeap(far)));
    assert_eq!(receiver.message(id, far, (), 1), Err(ReceiveError::NumberLeap(far)));
    assert_eq!(receiver.gap(id, 11, far), Err(ReceiveError::NumberLeap(far)));
    assert_eq!(receiver.skip(id, MAX_NUMBER + 1), Err(ReceiveError::NumberOutOfRange(MAX_NUMBER + 1)));
    assert_eq!(receiver.skip(PathId(7), 11), Err(ReceiveError::UnknownPath(PathId(7))));
    assert_eq!((receiver.next(), receiver.epoch()), (10, 1));
}

#[test]
fn changes_of_path_are_limited() {
    let mut receiver = Receiver::<()>::new(ID, CREDIT);
    receiver.path_up(path(2)).unwrap();
    let begins = (1..100).map(|epoch| receiver.begin(PathId(2), epoch, u64::from(epoch) * 10, false));
    let refused = begins.filter(|begin| *begin == Err(ReceiveError::TooManyChanges)).count();
    assert_eq!(refused, 99 - MAX_SEGMENTS);
}

#[test]
fn paths_are_limited_and_unique() {
    let mut receiver = Receiver::<()>::new(ID, CREDIT);
    let mut sender = Sender::<()>::new(SenderOptions {
        id: ID,
        first: 1,
        policy: QueuePolicy::KeepLast { depth: 1 },
        max_bytes: 1,
        credit: CREDIT,
    });
    for id in 0..MAX_PATHS as u32 {
        let path = Path::new(PathId(id), PathKind::SharedMemory);
        assert_eq!((receiver.path_up(path), sender.path_up(path)), (Ok(()), Ok(())));
        assert_eq!(receiver.path_up(path), Err(PathError::Exists(path.id)));
        assert_eq!(sender.path_up(path), Err(PathError::Exists(path.id)));
    }
    let more = Path::new(PathId(99), PathKind::SharedMemory);
    assert_eq!(
        (receiver.path_up(more), sender.path_up(more)),
        (Err(PathError::TooMany), Err(PathError::TooMany))
    );
    receiver.path_down(PathId(3));
    assert_eq!(receiver.path_up(more), Ok(()), "a dead path that owns nothing makes place");
}

#[test]
fn impossible_reached_is_refused() {
    let policy = QueuePolicy::KeepLast { depth: 1 };
    let mut sender = Sender::new(SenderOptions { id: ID, first: 5, policy, max_bytes: 1, credit: CREDIT });
    sender.path_up(path(0)).unwrap();
    assert_eq!(sender.reached(2, 5), Err(ReachedError::UnknownEpoch(2)));
    assert_eq!(sender.reached(1, 6), Err(ReachedError::NotPublished(6)));
    sender.publish(5, (), 1).unwrap();
    assert_eq!(sender.reached(1, 6), Ok(()));
}
