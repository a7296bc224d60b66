use runnel_core::wire::Encoding;
use runnel_rtps::wire::EntityId;

use super::*;
use crate::data::RequestIdentity;
use crate::rtps::CallHeader;

fn reply(participant: u8, number: i64, len: usize) -> Held {
    let client = GuidPrefix([participant; 12]).with(EntityId::user_writer(1));
    let identity = RequestIdentity::Header(CallHeader { client: 1, number });
    let to = Addressee { client, reader: None, identity, reads_failures: false };
    Held::new(to, Frame::new(Encoding::Xcdr1, vec![0; len]), Instant(0))
}

/// The participant and the number of a reply.
fn number(held: &Held) -> (u8, i64) {
    match held.to.identity {
        RequestIdentity::Header(header) => (held.to.client.prefix.0[0], header.number),
        RequestIdentity::InlineQos(_) => panic!("it has a header"),
    }
}

fn numbers(replies: impl IntoIterator<Item = Held>) -> Vec<(u8, i64)> {
    replies.into_iter().map(|held| number(&held)).collect()
}

#[test]
fn participant_displaces_its_own_oldest_reply() {
    let mut held = HeldReplies::default();
    assert!(held.hold(reply(1, 0, 8)).is_empty());
    for number in 0..OF_PARTICIPANT.replies as i64 {
        assert!(held.hold(reply(2, number, 8)).is_empty());
    }
    assert_eq!(numbers(held.hold(reply(2, OF_PARTICIPANT.replies as i64, 8))), [(2, 0)]);
    assert_eq!(numbers(held.take().into_replies())[..2], [(1, 0), (2, 1)]);
    assert!(held.is_empty());
}

#[test]
fn only_first_reply_calls_for_the_driver() {
    let mut held = HeldReplies::default();
    let mut is_first = |number| held.hold_new(reply(1, number, 8)).1;
    assert_eq!([1, 2, 3].map(&mut is_first), [true, false, false]);
    let taken = held.take();
    assert!(held.hold_new(reply(1, 4, 8)).1, "while the driver tries the others");
    held.put_back(taken);
    assert!(!held.hold_new(reply(1, 5, 8)).1);
}

fn refuse(reply: &Held) -> Vec<Addressee> {
    vec![reply.to.clone()]
}

#[test]
fn pass_tries_replies_until_a_client_takes_no_more() {
    let mut held = HeldReplies::default();
    for (participant, number) in [(1, 0), (2, 1), (1, 2), (2, 3), (1, 4)] {
        held.hold(reply(participant, number, 8));
    }
    let mut tried = Vec::new();
    let expired = held.retry(Instant(1), |reply| {
        tried.push(number(reply));
        if number(reply) == (1, 2) { refuse(reply) } else { Vec::new() }
    });
    assert!(expired.is_empty());
    assert_eq!(tried, [(1, 0), (1, 2), (2, 1), (2, 3)]);
    assert_eq!(numbers(held.take().into_replies()), [(1, 2), (1, 4)]);
}

#[test]
fn reply_is_tried_again_after_its_time() {
    let mut held = HeldReplies::default();
    held.hold(reply(1, 0, 8));
    let late = Instant(0) + HOLD;
    assert!((0..1000).all(|_| held.retry(Instant(1), refuse).is_empty()), "within its time");
    assert!((1..LAST_ATTEMPTS).all(|_| held.retry(late, refuse).is_empty()));
    assert_eq!(numbers(held.retry(late, refuse)), [(1, 0)]);
    assert!(held.is_empty() && held.of_participants.is_empty());
}

#[test]
fn time_begins_anew_when_the_client_takes_a_reply() {
    let mut held = HeldReplies::default();
    (0..3).for_each(|number| drop(held.hold(reply(1, number, 8))));
    let late = Instant(0) + HOLD;
    assert!((1..LAST_ATTEMPTS).all(|_| held.retry(late, refuse).is_empty()));
    let takes_first = |reply: &Held| if number(reply).1 == 0 { Vec::new() } else { refuse(reply) };
    assert!(held.retry(late, takes_first).is_empty());
    assert!((0..1000).all(|_| held.retry(late, refuse).is_empty()));
    let later = late + HOLD;
    assert!((1..LAST_ATTEMPTS).all(|_| held.retry(later, refuse).is_empty()));
    assert_eq!(numbers(held.retry(later, refuse)), [(1, 1), (1, 2)]);
}

#[test]
fn largest_holder_gives_way_to_others() {
    let mut held = HeldReplies::default();
    for participant in 1..=5 {
        let share = OF_SERVICE.replies as i64 / 5;
        let count = if participant == 3 { share + 4 } else { share - 1 };
        (0..count).for_each(|number| assert!(held.hold(reply(participant, number, 8)).is_empty()));
    }
    assert_eq!(numbers(held.hold(reply(6, 0, 8))), [(3, 0)]);
}

#[test]
fn bytes_are_bounded_but_for_one_reply() {
    let mut held = HeldReplies::default();
    assert!(held.hold(reply(1, 0, OF_SERVICE.bytes + 1)).is_empty());
    assert_eq!(numbers(held.hold(reply(2, 1, 8))), [(1, 0)]);
    assert!(held.hold(reply(2, 2, OF_PARTICIPANT.bytes - 8)).is_empty());
    assert_eq!(numbers(held.hold(reply(2, 3, 8))), [(2, 1)]);
    let later = held.take();
    assert!(held.put_back(later).is_empty());
    assert_eq!(numbers(held.take().into_replies()), [(2, 2), (2, 3)]);
}
