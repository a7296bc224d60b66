//! Rules of the receiver, one test each.

use runnel_delivery::{
    Accepted, Credit, Path, PathId, PathKind, ReceiveAction, ReceiveError, Receiver, Statement,
};

use crate::world::ID;

const TCP: PathId = PathId(1);
const MEMORY: PathId = PathId(2);
const RTPS: PathId = PathId(3);
const BEST: PathId = PathId(4);

const CREDIT: Credit = Credit { messages: 10, bytes: 100 };

fn receiver() -> Receiver<u64> {
    let mut receiver = Receiver::new(ID, CREDIT);
    for (id, kind) in [
        (TCP, PathKind::Tcpros),
        (MEMORY, PathKind::SharedMemory),
        (RTPS, PathKind::RtpsReliable),
        (BEST, PathKind::RtpsBestEffort),
    ] {
        receiver.path_up(Path::new(id, kind)).unwrap();
    }
    receiver
}

/// Polls the receiver; returns its actions as text.
fn actions(receiver: &mut Receiver<u64>) -> Vec<String> {
    let mut actions = Vec::new();
    while let Some(action) = receiver.poll_action() {
        actions.push(match action {
            ReceiveAction::Deliver { message, .. } => message.to_string(),
            ReceiveAction::Lost { from, count } => format!("lost {count} from {from}"),
            ReceiveAction::Reached { statement: Statement::Reached { epoch, next, .. }, .. } => {
                format!("reached {epoch}, {next}")
            }
            ReceiveAction::DrainPath { path } => format!("drain {}", path.0),
            ReceiveAction::Close { path } => format!("close {}", path.0),
            other => format!("{other:?}"),
        });
    }
    actions
}

fn message(receiver: &mut Receiver<u64>, path: PathId, number: u64) -> Accepted {
    receiver.message(path, number, number, 10).unwrap()
}

/// Creates a receiver active on a path; `next` is 5.
fn active(path: PathId) -> Receiver<u64> {
    let mut receiver = receiver();
    receiver.begin(path, 1, 5, false).unwrap();
    assert_eq!(actions(&mut receiver), ["reached 1, 5"]);
    receiver
}

#[test]
fn steady_path_accepts_in_order_only() {
    let mut receiver = active(TCP);
    assert!(receiver.accept_in_order(TCP, 5) && receiver.accept_in_order(TCP, 6));
    assert!(!receiver.accept_in_order(TCP, 6) && !receiver.accept_in_order(TCP, 8));
    assert!(!receiver.accept_in_order(MEMORY, 7), "another path");
    assert_eq!((receiver.next(), actions(&mut receiver)), (7, vec![]));
}

#[test]
fn new_path_waits_for_the_old_one() {
    let mut receiver = active(TCP);
    receiver.begin(MEMORY, 2, 7, false).unwrap();
    assert_eq!(actions(&mut receiver), ["reached 2, 5"]);
    assert_eq!(message(&mut receiver, MEMORY, 7), Accepted::Taken);
    assert!(!receiver.accept_in_order(TCP, 5), "something is held");
    assert_eq!(message(&mut receiver, TCP, 5), Accepted::Taken);
    assert_eq!(actions(&mut receiver), ["5"]);
    assert_eq!(message(&mut receiver, TCP, 6), Accepted::Taken);
    assert_eq!(actions(&mut receiver), ["6", "7", "reached 2, 8"]);
    assert!(receiver.accept_in_order(MEMORY, 8));
}

#[test]
fn skip_of_the_old_path_releases_the_new_one() {
    let mut receiver = active(TCP);
    receiver.begin(MEMORY, 2, 7, false).unwrap();
    message(&mut receiver, MEMORY, 7);
    actions(&mut receiver);
    receiver.skip(TCP, 7).unwrap();
    assert_eq!(
        (actions(&mut receiver), receiver.lost()),
        (vec!["lost 2 from 5".into(), "7".into(), "reached 2, 8".into()], 2)
    );
}

#[test]
fn far_jump_is_one_loss() {
    let mut receiver = active(MEMORY);
    assert_eq!(message(&mut receiver, MEMORY, 1_000_000), Accepted::Taken);
    assert_eq!(actions(&mut receiver), ["lost 999995 from 5", "1000000"]);
}

#[test]
fn death_of_the_old_path_waits_for_a_new_begin() {
    let mut receiver = active(TCP);
    receiver.begin(MEMORY, 2, 7, false).unwrap();
    message(&mut receiver, MEMORY, 7);
    actions(&mut receiver);
    receiver.path_down(TCP);
    assert_eq!(actions(&mut receiver), ["reached 2, 5"], "the sender may have 5 and 6 back");
    receiver.begin(MEMORY, 3, 5, false).unwrap();
    assert_eq!(message(&mut receiver, MEMORY, 6), Accepted::Taken);
    assert_eq!(actions(&mut receiver), ["lost 1 from 5", "6", "7", "reached 3, 8"]);
}

#[test]
fn duplicate_message_is_delivered_once() {
    let mut receiver = active(MEMORY);
    message(&mut receiver, MEMORY, 5);
    actions(&mut receiver);
    receiver.begin(TCP, 2, 5, false).unwrap();
    assert_eq!(message(&mut receiver, TCP, 5), Accepted::Duplicate);
    assert_eq!(message(&mut receiver, TCP, 6), Accepted::Taken);
    assert_eq!(message(&mut receiver, MEMORY, 6), Accepted::Duplicate);
    assert_eq!(actions(&mut receiver), ["6", "reached 2, 7"]);
}

#[test]
fn begin_of_an_earlier_epoch_is_ignored() {
    let mut receiver = active(TCP);
    receiver.begin(MEMORY, 3, 5, false).unwrap();
    receiver.begin(RTPS, 2, 6, false).unwrap();
    message(&mut receiver, MEMORY, 5);
    message(&mut receiver, MEMORY, 7);
    assert_eq!(actions(&mut receiver), ["5", "lost 1 from 6", "7", "reached 3, 8"], "memory owns 6");
}

#[test]
fn repeated_begin_is_answered() {
    let mut receiver = active(TCP);
    receiver.begin(TCP, 1, 5, false).unwrap();
    assert_eq!(actions(&mut receiver), ["reached 1, 5"]);
}

#[test]
fn samples_of_rtps_wait_for_those_missing_and_for_gaps() {
    let mut receiver = active(RTPS);
    assert_eq!(message(&mut receiver, RTPS, 7), Accepted::Taken);
    assert_eq!(actions(&mut receiver), Vec::<String>::new());
    message(&mut receiver, RTPS, 5);
    assert_eq!(actions(&mut receiver), ["5"]);
    assert_eq!(receiver.gap(RTPS, 6, 7), Ok(true));
    assert_eq!(actions(&mut receiver), ["lost 1 from 6", "7"]);
}

#[test]
fn gap_beyond_the_credit_is_remembered() {
    let mut receiver = active(RTPS);
    assert_eq!(receiver.gap(RTPS, 7, 5000), Ok(true));
    assert_eq!(receiver.gap(RTPS, 6000, 6001), Ok(false), "too far ahead");
    assert_eq!(message(&mut receiver, RTPS, 5000), Accepted::Discarded);
    message(&mut receiver, RTPS, 5);
    message(&mut receiver, RTPS, 6);
    assert_eq!(actions(&mut receiver), ["5", "6", "lost 4993 from 7"]);
    assert!(receiver.accept_in_order(RTPS, 5000));
}

#[test]
fn gap_that_follows_accepted_samples_is_not_overlooked() {
    let mut receiver = active(RTPS);
    assert_eq!(receiver.gap(RTPS, 15, 16), Ok(true));
    for number in 5..15 {
        assert!(!receiver.accept_in_order(RTPS, number));
        message(&mut receiver, RTPS, number);
        actions(&mut receiver);
    }
    assert_eq!((receiver.next(), receiver.lost()), (16, 1));
}

#[test]
fn best_effort_loses_and_never_reorders() {
    let mut receiver = active(BEST);
    message(&mut receiver, BEST, 7);
    assert_eq!(message(&mut receiver, BEST, 6), Accepted::Duplicate);
    assert_eq!(actions(&mut receiver), ["lost 2 from 5", "7"]);
}

#[test]
fn best_effort_path_is_drained_after_a_change() {
    let mut receiver = active(BEST);
    receiver.begin(MEMORY, 2, 8, false).unwrap();
    message(&mut receiver, MEMORY, 8);
    assert_eq!(actions(&mut receiver), ["drain 4", "reached 2, 5"]);
    message(&mut receiver, BEST, 6);
    assert_eq!(actions(&mut receiver), ["lost 1 from 5", "6"]);
    receiver.path_drained(BEST);
    assert_eq!(actions(&mut receiver), ["lost 1 from 7", "8", "reached 2, 9"]);
}

#[test]
fn held_messages_and_bytes_are_limited() {
    let mut receiver = active(RTPS);
    assert_eq!(message(&mut receiver, RTPS, 15), Accepted::Discarded, "beyond 10 messages");
    assert_eq!(receiver.message(RTPS, 6, 6, 95), Ok(Accepted::Taken));
    assert_eq!(receiver.message(RTPS, 7, 7, 6), Ok(Accepted::Discarded), "beyond 100 bytes");
    assert_eq!(receiver.message(RTPS, 5, 5, 5000), Ok(Accepted::Taken), "the next one needs no place");
    assert_eq!(actions(&mut receiver), ["5", "6"]);
}

#[test]
fn bytes_beyond_the_credit_are_a_fault_of_the_sender() {
    let mut receiver = active(TCP);
    receiver.begin(MEMORY, 2, 7, false).unwrap();
    assert_eq!(receiver.message(MEMORY, 7, 7, 100), Ok(Accepted::Taken));
    assert_eq!(receiver.message(MEMORY, 8, 8, 1), Err(ReceiveError::CreditExceeded(8)));
}

#[test]
fn relay_is_answered_at_intervals() {
    let mut receiver = active(MEMORY);
    receiver.report_every(3);
    for number in 5..8 {
        assert!(!receiver.accept_in_order(MEMORY, number));
        message(&mut receiver, MEMORY, number);
    }
    assert_eq!(actions(&mut receiver), ["5", "6", "7", "reached 1, 8"]);
}

#[test]
fn path_without_numbers_is_read_before_a_begin_counts() {
    let mut receiver = Receiver::new(ID, CREDIT);
    receiver.path_up(Path::plain(TCP, PathKind::Tcpros)).unwrap();
    receiver.path_up(Path::new(RTPS, PathKind::RtpsReliable)).unwrap();
    assert_eq!(receiver.message_unnumbered(TCP, 1, 10), Ok(Accepted::Taken));
    assert_eq!(actions(&mut receiver), ["1"]);
    assert!(receiver.accept_unnumbered(TCP));
    receiver.begin(RTPS, 1, 40, true).unwrap();
    assert_eq!(actions(&mut receiver), ["drain 1"]);
    receiver.message_unnumbered(TCP, 3, 10).unwrap();
    receiver.path_drained(TCP);
    assert_eq!(actions(&mut receiver), ["3", "reached 1, 40"]);
    assert!(receiver.accept_in_order(RTPS, 40) && !receiver.accept_unnumbered(TCP));
}

#[test]
fn peer_without_statements_begins_at_first_sample() {
    let mut receiver = Receiver::new(ID, CREDIT);
    receiver.path_up(Path::plain(RTPS, PathKind::RtpsReliable)).unwrap();
    receiver.begin_plain(RTPS, 30).unwrap();
    assert_eq!(message(&mut receiver, RTPS, 30), Accepted::Taken);
    assert_eq!(actions(&mut receiver).first().map(String::as_str), Some("30"));
}

#[test]
fn numbers_belong_to_numbered_paths() {
    let mut receiver = receiver();
    assert_eq!(receiver.message_unnumbered(TCP, 1, 1), Err(ReceiveError::WrongNumbering(TCP)));
    receiver.path_up(Path::new(PathId(9), PathKind::Udpros)).unwrap();
    assert_eq!(receiver.message(PathId(9), 1, 1, 1), Err(ReceiveError::WrongNumbering(PathId(9))));
}

#[test]
fn path_that_is_left_is_closed() {
    let mut receiver = Receiver::<u64>::new(ID, CREDIT);
    receiver.path_up(Path::new(MEMORY, PathKind::SharedMemory).closing()).unwrap();
    receiver.path_up(Path::new(RTPS, PathKind::RtpsReliable)).unwrap();
    receiver.begin(MEMORY, 1, 5, false).unwrap();
    actions(&mut receiver);
    receiver.begin(RTPS, 2, 6, false).unwrap();
    message(&mut receiver, MEMORY, 5);
    assert_eq!(actions(&mut receiver), ["5", "reached 2, 6", "close 2"]);
}
