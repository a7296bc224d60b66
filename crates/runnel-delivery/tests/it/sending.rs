//! Rules of the sender, one test each.

use runnel_delivery::{
    Credit, Numbered, Path, PathId, PathKind, PublishError, QueuePolicy, SendAction, Sender, SenderOptions,
    SenderState, Statement, SwitchError,
};

use crate::world::ID;

const TCP: PathId = PathId(1);
const MEMORY: PathId = PathId(2);
const RTPS: PathId = PathId(3);

fn sender(policy: QueuePolicy, credit: Credit) -> Sender<()> {
    let mut sender = Sender::new(SenderOptions { id: ID, first: 1, policy, max_bytes: 1000, credit });
    sender.path_up(Path::new(TCP, PathKind::Tcpros)).unwrap();
    sender
}

fn keep_last(depth: usize) -> Sender<()> {
    sender(QueuePolicy::KeepLast { depth }, Credit::DEFAULT)
}

/// Creates a sender active on TCP, with nothing in flight.
fn active(depth: usize) -> Sender<()> {
    let mut sender = keep_last(depth);
    assert_eq!(actions(&mut sender), ["begin 1 on 1"]);
    sender.reached(1, 1).unwrap();
    sender
}

fn publish(sender: &mut Sender<()>, numbers: std::ops::RangeInclusive<u64>) {
    numbers.for_each(|number| {
        sender.publish(number, (), 10).unwrap();
    });
}

/// Polls the sender; returns its actions as text.
fn actions(sender: &mut Sender<()>) -> Vec<String> {
    let mut actions = Vec::new();
    while let Some(action) = sender.poll_action() {
        actions.push(match action {
            SendAction::Begin { path, statement: Statement::Begin { from, is_settled, .. } } => {
                format!("begin {from} on {}{}", path.0, if is_settled { ", settled" } else { "" })
            }
            SendAction::Skip { path, from, to, .. } => format!("skip {from}..{to} on {}", path.0),
            SendAction::Send { path, message } => format!("{} on {}", message.number, path.0),
            SendAction::Close { path } => format!("close {}", path.0),
            other => format!("{other:?}"),
        });
    }
    actions
}

fn returned(numbers: &[u64]) -> impl Iterator<Item = Numbered<()>> {
    numbers.iter().map(|number| Numbered { number: *number, bytes: 10, message: () })
}

#[test]
fn late_joiner_gets_kept_messages_first() {
    let policy = QueuePolicy::KeepLast { depth: 5 };
    let credit = Credit::DEFAULT;
    let mut sender = Sender::new(SenderOptions { id: ID, first: 40, policy, max_bytes: 1000, credit });
    publish(&mut sender, 40..=42);
    sender.path_up(Path::new(TCP, PathKind::Tcpros)).unwrap();
    assert_eq!(actions(&mut sender), ["begin 40 on 1", "40 on 1", "41 on 1", "42 on 1"]);
}

#[test]
fn dropped_message_is_skipped() {
    let mut sender = active(2);
    sender.path_blocked(TCP);
    publish(&mut sender, 1..=4);
    assert_eq!((actions(&mut sender), sender.dropped()), (vec![], 2));
    sender.path_writable(TCP);
    assert_eq!(actions(&mut sender), ["skip 1..3 on 1", "3 on 1", "4 on 1"]);
}

#[test]
fn full_keep_all_queue_refuses_messages() {
    let mut sender = sender(QueuePolicy::KeepAll { limit: 2 }, Credit::DEFAULT);
    sender.path_blocked(TCP);
    publish(&mut sender, 1..=2);
    assert!(sender.is_full(1));
    assert_eq!(sender.publish(3, (), 1), Err(PublishError::Full));
    assert_eq!(sender.publish(2, (), 1), Err(PublishError::NumberOutOfOrder(2)));
}

#[test]
fn best_effort_waits_for_no_path() {
    let mut sender = sender(QueuePolicy::BestEffort { depth: 2 }, Credit::DEFAULT);
    sender.path_down(TCP, []);
    assert_eq!(sender.publish(1, (), 1), Ok(1));
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    assert_eq!(actions(&mut sender), ["begin 1 on 2", "skip 1..2 on 2"]);
}

#[test]
fn change_waits_for_the_one_before() {
    let mut sender = active(9);
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    assert_eq!(sender.preferred_path(), Some(MEMORY));
    publish(&mut sender, 1..=2);
    assert_eq!(actions(&mut sender), ["1 on 1", "2 on 1"]);
    assert_eq!(sender.switch_path(TCP), Err(SwitchError::AlreadyActive));
    assert_eq!(sender.switch_path(RTPS), Err(SwitchError::Unknown(RTPS)));
    sender.switch_path(MEMORY).unwrap();
    assert_eq!(sender.switch_path(TCP), Err(SwitchError::Busy));
    publish(&mut sender, 3..=3);
    assert_eq!(actions(&mut sender), ["begin 3 on 2", "3 on 2"]);
    sender.reached(2, 2).unwrap();
    assert_eq!(sender.state(), SenderState::Draining { path: MEMORY, from: 3 }, "not all before 3");
    sender.reached(1, 3).unwrap();
    assert_eq!(sender.state(), SenderState::Draining { path: MEMORY, from: 3 }, "of the epoch before");
    sender.reached(2, 3).unwrap();
    assert_eq!((sender.state(), sender.preferred_path()), (SenderState::Active { path: MEMORY }, None));
}

#[test]
fn credit_limits_what_is_sent_during_a_change() {
    let credit = Credit { messages: 3, bytes: 25 };
    let mut sender = sender(QueuePolicy::KeepLast { depth: 20 }, credit);
    publish(&mut sender, 1..=6);
    assert_eq!(actions(&mut sender), ["begin 1 on 1", "1 on 1", "2 on 1"], "20 of 25 bytes");
    sender.reached(1, 1).unwrap();
    assert_eq!(actions(&mut sender), ["3 on 1", "4 on 1", "5 on 1", "6 on 1"], "the change is complete");
}

#[test]
fn message_longer_than_the_credit_is_sent_when_it_is_next() {
    let mut sender = sender(QueuePolicy::KeepLast { depth: 20 }, Credit { messages: 3, bytes: 5 });
    publish(&mut sender, 1..=2);
    assert_eq!(actions(&mut sender), ["begin 1 on 1", "1 on 1"]);
}

#[test]
fn unread_messages_use_next_path() {
    let mut sender = active(9);
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    publish(&mut sender, 1..=1);
    actions(&mut sender);
    sender.switch_path(MEMORY).unwrap();
    publish(&mut sender, 2..=5);
    actions(&mut sender);
    sender.path_down(MEMORY, returned(&[4, 5, 99, 0]));
    assert_eq!(actions(&mut sender), ["begin 2 on 1", "skip 2..4 on 1", "4 on 1", "5 on 1"]);
}

#[test]
fn messages_of_dead_connection_are_skipped() {
    let mut sender = active(9);
    sender.path_up(Path::new(RTPS, PathKind::RtpsReliable)).unwrap();
    publish(&mut sender, 1..=5);
    actions(&mut sender);
    sender.path_down(TCP, []);
    assert_eq!(actions(&mut sender), ["begin 1 on 3", "skip 1..6 on 3"]);
    sender.reached(2, 4).unwrap();
    assert_eq!(sender.state(), SenderState::Active { path: RTPS });
}

/// The last messages of the old path were still in flight when the new one died and the old one began again.
#[test]
fn reopened_connection_is_open_from_first_message() {
    let mut sender = active(9);
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    publish(&mut sender, 1..=3);
    actions(&mut sender);
    sender.switch_path(MEMORY).unwrap();
    publish(&mut sender, 4..=4);
    actions(&mut sender);
    sender.path_down(MEMORY, returned(&[4]));
    assert_eq!(actions(&mut sender), ["begin 4 on 1", "4 on 1"]);
    sender.path_down(TCP, []);
    assert_eq!(sender.state(), SenderState::Waiting { from: 1 });
}

#[test]
fn messages_wait_for_a_path_and_resume_where_it_ended() {
    let mut sender = active(9);
    sender.path_down(TCP, []);
    publish(&mut sender, 1..=2);
    assert_eq!((sender.state(), actions(&mut sender)), (SenderState::Waiting { from: 1 }, vec![]));
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    assert_eq!(actions(&mut sender), ["begin 1 on 2", "1 on 2", "2 on 2"]);
}

#[test]
fn last_skip_waits_until_the_old_path_takes_it() {
    let mut sender = active(1);
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    sender.path_blocked(TCP);
    publish(&mut sender, 1..=2);
    sender.switch_path(MEMORY).unwrap();
    assert_eq!(actions(&mut sender), ["begin 2 on 2", "2 on 2"]);
    sender.path_writable(TCP);
    assert_eq!(actions(&mut sender), ["skip 1..2 on 1"]);
}

#[test]
fn left_path_is_closed_after_all_arrived() {
    let mut sender = keep_last(9);
    sender.path_down(TCP, []);
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory).closing()).unwrap();
    sender.path_up(Path::new(RTPS, PathKind::RtpsReliable)).unwrap();
    publish(&mut sender, 1..=1);
    actions(&mut sender);
    sender.reached(sender.epoch(), 2).unwrap();
    sender.switch_path(RTPS).unwrap();
    assert_eq!(actions(&mut sender), ["begin 2 on 3"]);
    sender.reached(sender.epoch(), 2).unwrap();
    assert_eq!(actions(&mut sender), ["close 2"]);
}

#[test]
fn begin_is_repeated_until_it_is_answered() {
    let mut sender = keep_last(1);
    assert_eq!(actions(&mut sender), ["begin 1 on 1"]);
    sender.repeat();
    assert!(sender.awaits_reached());
    assert_eq!(actions(&mut sender), ["begin 1 on 1"]);
    sender.reached(1, 1).unwrap();
    sender.repeat();
    assert_eq!((sender.awaits_reached(), actions(&mut sender)), (false, vec![]));
}

#[test]
fn path_without_statements_is_emptied_before_the_next_begins() {
    let mut sender = keep_last(9);
    sender.path_down(TCP, []);
    sender.path_up(Path::plain(TCP, PathKind::Tcpros)).unwrap();
    sender.path_up(Path::new(RTPS, PathKind::RtpsReliable)).unwrap();
    publish(&mut sender, 1..=1);
    assert_eq!(actions(&mut sender), ["1 on 1"]);
    sender.switch_path(RTPS).unwrap();
    publish(&mut sender, 2..=2);
    assert_eq!(actions(&mut sender), Vec::<String>::new());
    sender.path_empty(TCP);
    assert_eq!(actions(&mut sender), ["begin 2 on 3, settled"], "a sample might overtake it");
    sender.reached(sender.epoch(), 2).unwrap();
    assert_eq!(actions(&mut sender), ["2 on 3"]);
}

#[test]
fn path_without_numbers_carries_nothing_twice() {
    let mut sender = keep_last(9);
    sender.path_down(TCP, []);
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    sender.path_up(Path::plain(TCP, PathKind::Tcpros)).unwrap();
    publish(&mut sender, 1..=2);
    actions(&mut sender);
    sender.path_down(MEMORY, returned(&[2]));
    publish(&mut sender, 3..=3);
    assert_eq!(sender.state(), SenderState::Emptying { path: MEMORY, to: TCP });
    sender.path_empty(MEMORY);
    assert_eq!((actions(&mut sender), sender.dropped()), (vec!["3 on 1".to_string()], 1));
}

/// RTPS sends a GAP, which a later Begin does not replace.
#[test]
fn due_skip_follows_next_begin() {
    let mut sender = keep_last(1);
    sender.path_down(TCP, []);
    sender.path_up(Path::new(RTPS, PathKind::RtpsReliable)).unwrap();
    actions(&mut sender);
    sender.reached(sender.epoch(), 1).unwrap();
    sender.path_up(Path::new(MEMORY, PathKind::SharedMemory)).unwrap();
    publish(&mut sender, 1..=2);
    sender.switch_path(MEMORY).unwrap();
    sender.path_down(MEMORY, []);
    assert_eq!(actions(&mut sender), ["begin 1 on 3", "skip 1..2 on 3", "2 on 3"]);
}

#[test]
fn message_counts_as_carried_only_after_its_skip() {
    let mut sender = active(1);
    publish(&mut sender, 1..=2);
    assert!(!sender.carried(TCP, 2));
    assert_eq!(actions(&mut sender), ["skip 1..2 on 1", "2 on 1"]);
    publish(&mut sender, 3..=3);
    assert!(!sender.carried(MEMORY, 3) && !sender.carried(TCP, 4) && sender.carried(TCP, 3));
    assert_eq!(actions(&mut sender), Vec::<String>::new());
}
