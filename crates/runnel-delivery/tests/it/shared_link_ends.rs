//! Ends of pairs, writers and subscriptions on a shared link: the statements and the state that remain at either end.

use runnel_delivery::{PairId, PairMatch, SharedLinkReceiver, SharedLinkSender, Statement};

const A: PairId = PairId { writer: 1, reader: 2 };
const SUBSCRIPTION: u32 = 7;

fn leave(pair: PairId, epoch: u32) -> Statement {
    Statement::Leave { id: pair.id(), epoch, from: 1 }
}

fn begin(pair: PairId, epoch: u32) -> Statement {
    Statement::Begin { id: pair.id(), epoch, from: 1, is_settled: false }
}

fn statements(receiver: &mut SharedLinkReceiver<u32>) -> Vec<Statement> {
    std::iter::from_fn(|| receiver.poll_statement()).collect()
}

/// Creates a subscription that has received messages of the writer by the link, and whose pair is matched and
/// requested.
fn receiver_with_asked_pair() -> SharedLinkReceiver<u32> {
    let mut receiver = SharedLinkReceiver::default();
    receiver.add(SUBSCRIPTION, false);
    receiver.statement(&Statement::Number { id: PairId { reader: 0, ..A }.id(), next: 1 }).unwrap();
    receiver.matched(A, SUBSCRIPTION);
    assert_eq!(statements(&mut receiver), [Statement::Ask { id: A.id() }]);
    receiver
}

#[test]
fn leave_of_unmatched_pair_is_answered_with_return() {
    let mut receiver = receiver_with_asked_pair();
    receiver.unmatched(A);
    assert!(receiver.delivers(SUBSCRIPTION));
    assert_eq!(receiver.statement(&leave(A, 1)), Ok(None));
    assert_eq!(statements(&mut receiver), [Statement::Return { id: A.id() }], "once, and no Reached");
    assert!(!receiver.delivers(SUBSCRIPTION) && !receiver.accepts_rtps(A));
    // The Begin answers the Return, and the pair can be requested again.
    assert_eq!(receiver.statement(&begin(A, 2)), Ok(None));
    assert!(receiver.delivers(SUBSCRIPTION));
    receiver.matched(A, SUBSCRIPTION);
    assert_eq!(statements(&mut receiver), [Statement::Ask { id: A.id() }]);
}

#[test]
fn begin_of_writer_is_restated_on_another_path() {
    let mut sender = SharedLinkSender::default();
    let leaves = sender.leave(A, 5);
    let begins = sender.needed(A.writer, 6);
    assert!(sender.restate().eq([leaves, begins]));
}

#[test]
fn confirmed_statements_are_not_restated() {
    let mut sender = SharedLinkSender::default();
    sender.leave(A, 5);
    let returned = sender.return_to_link(PairId { reader: 3, ..A }, 5);
    assert_eq!(sender.restate().count(), 2);
    assert_eq!(sender.reached(A, 1, 5), Ok(Some(5)));
    assert!(sender.restate().eq([returned]));
    assert!(sender.standby(A.writer, 2));
    assert_eq!(sender.restate().count(), 0);
}

#[test]
fn unconfirmed_statements_are_bounded() {
    let mut sender = SharedLinkSender::default();
    for reader in 1..=5000 {
        sender.return_to_link(PairId { writer: 1, reader }, 1);
    }
    assert_eq!(sender.restate().count(), 1024);
    assert_eq!(sender.restate().last(), Some(begin(PairId { writer: 1, reader: 5000 }, 5000)));
}

#[test]
fn pairs_of_ended_writers_are_forgotten() {
    let mut receiver = receiver_with_asked_pair();
    for (epoch, writer) in (2..1000).enumerate() {
        let pair = PairId { writer, ..A };
        receiver.matched(pair, SUBSCRIPTION);
        receiver.statement(&leave(pair, 2 * epoch as u32 + 1)).unwrap();
        receiver.unmatched(pair);
        // The publisher states the same for a writer that has ended.
        let answers = statements(&mut receiver);
        assert!(answers.contains(&Statement::Return { id: pair.id() }), "{answers:?}");
        receiver.statement(&begin(pair, 2 * epoch as u32 + 2)).unwrap();
        statements(&mut receiver);
    }
    assert_eq!(receiver.pairs().count(), 1 + 64);
}

#[test]
fn removed_subscription_takes_back_its_ask() {
    let mut receiver = receiver_with_asked_pair();
    let mut sender = SharedLinkSender::default();
    assert_eq!(sender.ask(A, PairMatch::Unmatched), Ok(false));
    receiver.remove(SUBSCRIPTION);
    assert_eq!(statements(&mut receiver), [Statement::Return { id: A.id() }]);
    sender.return_to_link(A, 1);
    assert!(!sender.matched(A), "it is no longer requested");
}

#[test]
fn ask_of_matched_pair_replaces_remembered_one() {
    let mut sender = SharedLinkSender::default();
    assert_eq!(sender.ask(A, PairMatch::Unmatched), Ok(false));
    assert_eq!(sender.ask(A, PairMatch::OnRtps), Ok(false));
    assert!(!sender.matched(A), "the pair is on RTPS already");
}

#[test]
fn ended_writer_frees_what_was_remembered_of_it() {
    let mut sender = SharedLinkSender::default();
    let ask = |sender: &mut SharedLinkSender, writer, reader| {
        sender.ask(PairId { writer, reader }, PairMatch::Unmatched)
    };
    (0..1024).for_each(|reader| assert_eq!(ask(&mut sender, 1, reader), Ok(false)));
    assert!(ask(&mut sender, 2, 1).is_err());
    sender.leave(A, 5);
    sender.forget_writer(1);
    assert_eq!(ask(&mut sender, 2, 1), Ok(false));
    assert_eq!(sender.reached(A, 1, 5), Ok(None), "the pair does not leave any more");
}

/// RTPS serves the pair before the link exists, and only the publisher has matched it.
#[test]
fn pair_matched_after_leave_waits_for_link() {
    let mut receiver = SharedLinkReceiver::default();
    receiver.add(SUBSCRIPTION, true);
    assert_eq!(receiver.statement(&leave(A, 1)), Ok(None));
    assert_eq!(statements(&mut receiver), [Statement::Return { id: A.id() }]);
    receiver.matched(A, SUBSCRIPTION);
    assert_eq!(statements(&mut receiver), [], "the Return comes first");
    receiver.statement(&Statement::Number { id: PairId { reader: 0, ..A }.id(), next: 1 }).unwrap();
    assert!(!receiver.delivers(SUBSCRIPTION) && !receiver.accepts_rtps(A));
    receiver.statement(&begin(A, 2)).unwrap();
    assert!(receiver.delivers(SUBSCRIPTION) && !receiver.accepts_rtps(A));
    assert_eq!(statements(&mut receiver), [Statement::Ask { id: A.id() }]);
}

/// The reader's node knows its subscription, so messages that the link carries before the Return are delivered once.
#[test]
fn unmatched_pair_on_rtps_waits_for_resent_messages() {
    let mut receiver = SharedLinkReceiver::default();
    receiver.add(SUBSCRIPTION, true);
    receiver.add_reader(A.reader, SUBSCRIPTION);
    assert_eq!(receiver.statement(&leave(A, 1)), Ok(None));
    assert_eq!(statements(&mut receiver), [Statement::Return { id: A.id() }]);
    receiver.statement(&Statement::Number { id: PairId { reader: 0, ..A }.id(), next: 1 }).unwrap();
    assert!(!receiver.delivers(SUBSCRIPTION), "the publisher sends it again");
    receiver.matched(A, SUBSCRIPTION);
    assert_eq!(statements(&mut receiver), [], "the Return comes first");
    assert!(!receiver.delivers(SUBSCRIPTION) && !receiver.accepts_rtps(A));
    receiver.statement(&Statement::Resent { id: A.id(), at: 2, number: 9 }).unwrap();
    let resent = receiver.resent(2).unwrap();
    assert_eq!((resent.number, resent.subscription), (9, Some(SUBSCRIPTION)));
    receiver.note_resent(resent);
    receiver.statement(&Statement::Begin { id: A.id(), epoch: 2, from: 10, is_settled: false }).unwrap();
    assert!(receiver.delivers(SUBSCRIPTION) && !receiver.accepts_rtps(A));
    assert_eq!(receiver.take_lost(), [], "nothing was due before");
    assert_eq!(statements(&mut receiver), [Statement::Ask { id: A.id() }]);
}
