//! Refusals, limits and deduplication at the ends of a shared link.

use runnel_delivery::{
    Lost, PairId, PairMatch, PublisherFault, ReachedError, SharedLinkReceiver, SharedLinkSender, Statement,
    SubscriberFault,
};

const A: PairId = PairId { writer: 1, reader: 2 };

#[test]
fn sender_refuses_impossible_reached() {
    let mut sender = SharedLinkSender::default();
    assert_eq!(sender.reached(A, 1, 1), Err(ReachedError::UnknownEpoch(1)));
    sender.leave(A, 7);
    assert_eq!(sender.reached(A, 1, 8), Err(ReachedError::NotPublished(8)));
    assert_eq!(sender.reached(PairId { reader: 3, ..A }, 1, 7), Ok(None), "another is not waited for");
    assert_eq!((sender.reached(A, 1, 7), sender.reached(A, 1, 7)), (Ok(Some(7)), Ok(None)));
    assert!(!sender.standby(1, 0), "it had not seen the last change");
    assert!(sender.carries(1) && sender.standby(1, 1) && !sender.carries(1));
}

#[test]
fn sender_limits_remembered_asks() {
    let mut sender = SharedLinkSender::default();
    let ask = |sender: &mut SharedLinkSender, reader| {
        sender.ask(PairId { writer: 1, reader }, PairMatch::Unmatched)
    };
    (0..1024).for_each(|reader| assert_eq!(ask(&mut sender, reader), Ok(false)));
    assert_eq!((ask(&mut sender, 5), ask(&mut sender, 5000)), (Ok(false), Err(SubscriberFault)));
    assert!(sender.matched(PairId { writer: 1, reader: 5 }));
    assert_eq!(ask(&mut sender, 5000), Ok(false));
}

#[test]
fn receiver_returns_unknown_pairs_and_refuses_violations() {
    let mut receiver = SharedLinkReceiver::<u32>::default();
    let leave = |epoch| Statement::Leave { id: A.id(), epoch, from: 1 };
    assert_eq!(receiver.statement(&leave(u32::MAX)), Err(PublisherFault::EpochLeap(u32::MAX)));
    assert_eq!(receiver.statement(&Statement::Ask { id: A.id() }), Err(PublisherFault::SubscriberStatement));
    for epoch in 1..=4096 {
        assert_eq!(receiver.statement(&leave(epoch)), Ok(None));
    }
    assert_eq!(receiver.statement(&leave(4097)), Err(PublisherFault::TooManyAnswers));
    assert!(
        std::iter::from_fn(|| receiver.poll_statement())
            .all(|answer| answer == Statement::Return { id: A.id() })
    );
}

#[test]
fn first_link_message_ends_rtps_delivery_of_unstated_pairs() {
    let (mut receiver, b) = (SharedLinkReceiver::<u32>::default(), PairId { reader: 3, ..A });
    for (pair, subscription) in [(A, 7), (b, 8)] {
        receiver.add(subscription, true);
        receiver.matched(pair, subscription);
    }
    receiver.statement(&Statement::Leave { id: A.id(), epoch: 1, from: 1 }).unwrap();
    receiver.statement(&Statement::Number { id: PairId { reader: 0, ..A }.id(), next: 1 }).unwrap();
    assert!(receiver.accepts_rtps(A) && receiver.accepts_rtps(b), "more may be stated before a message");
    assert!(!receiver.delivers(7) && receiver.delivers(8));
    assert!(receiver.note_message(), "the link serves the second pair");
    assert!(receiver.accepts_rtps(A) && !receiver.accepts_rtps(b));
    assert!(!receiver.note_message(), "nothing has changed");
}

#[test]
fn resent_message_is_delivered_once_and_gaps_are_counted() {
    let mut receiver = SharedLinkReceiver::<u32>::default();
    receiver.add(7, true);
    receiver.matched(A, 7);
    receiver.statement(&Statement::Leave { id: A.id(), epoch: 1, from: 1 }).unwrap();
    // RTPS has delivered those before 5.
    receiver.note_position(A, 5);
    // The link counts beyond 32 bits.
    let at = (1 << 32) - 2;
    receiver.note_next_on_link(at);
    let resent = Statement::Resent { id: A.id(), at: at as u32, number: 4 };
    receiver.statement(&resent).unwrap();
    assert!(!receiver.accepts_rtps(A) && !receiver.delivers_to_all());
    assert_eq!(receiver.resent(at - 1), None, "it was sent before");
    let number = |receiver: &SharedLinkReceiver<u32>, on_link| {
        let resent = receiver.resent(on_link).unwrap();
        resent.subscription.map(|_| resent.number)
    };
    let given = [at, at + 1].map(|on_link| number(&receiver, on_link));
    assert_eq!(given, [None, Some(5)]);
    // The link has dropped one.
    let later = receiver.resent(at + 3).unwrap();
    receiver.note_resent(receiver.resent(at + 1).unwrap());
    receiver.note_resent(later);
    assert_eq!(receiver.take_lost(), [Lost { subscription: 7, count: 1 }]);
    receiver.statement(&Statement::Begin { id: A.id(), epoch: 2, from: 10, is_settled: false }).unwrap();
    assert_eq!(receiver.take_lost(), [Lost { subscription: 7, count: 2 }], "8 and 9");
    receiver.statement(&resent).unwrap();
    assert_eq!(receiver.resent(at), None, "it was stated before");
    assert!(receiver.delivers(7));
}

#[test]
fn run_is_recognized_2_to_the_31_messages_after_the_one_before() {
    let mut receiver = SharedLinkReceiver::<u32>::default();
    receiver.add(7, true);
    receiver.matched(A, 7);
    for (round, at) in [(0, 10), (1, 10 + (1 << 31)), (2, 10 + (5 << 31))] {
        receiver.statement(&Statement::Leave { id: A.id(), epoch: 2 * round + 1, from: 1 }).unwrap();
        receiver.note_next_on_link(at);
        receiver.statement(&Statement::Resent { id: A.id(), at: at as u32, number: at }).unwrap();
        let resent = receiver.resent(at).expect("a message for the pair");
        assert_eq!((resent.number, resent.subscription), (at, Some(7)));
        receiver.note_resent(resent);
        let begin = Statement::Begin { id: A.id(), epoch: 2 * round + 2, from: at + 1, is_settled: false };
        receiver.statement(&begin).unwrap();
    }
}
