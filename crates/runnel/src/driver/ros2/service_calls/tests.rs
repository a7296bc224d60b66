use runnel_rtps::wire::{EntityId, GuidPrefix, SequenceNumber};

use super::*;

const CLIENT: u64 = 7;
const KEY: RequestKey = ([1; 16], 1);

fn guid(participant: u8, entity: EntityId) -> Guid {
    GuidPrefix([participant; 12]).with(entity)
}

fn own() -> [Guid; 2] {
    [guid(1, EntityId::user_reader(1)), guid(1, EntityId::user_writer(1))]
}

fn server(participant: u8) -> Guid {
    guid(participant, EntityId::user_reader(1))
}

fn ready(participant: u8) -> ReadyServer {
    ReadyServer { server: server(participant), deduplicates: false }
}

/// The numbers of the requests that a server gets.
fn numbers(calls: &mut PendingCalls, to: ReadyServer, now: Instant) -> Vec<i64> {
    let sent = std::cell::RefCell::new(Vec::new());
    calls.send_due(to, now, |_, header| {
        sent.borrow_mut().push(header.number);
        Some((header.number as u64 + 100, KEY))
    });
    sent.into_inner()
}

/// Calls that were sent to server 2: the first as its message 10, and so on.
fn sent(count: usize) -> (PendingCalls, Vec<Arc<PendingCall>>) {
    let mut calls = PendingCalls::new(CLIENT, Arc::default());
    let pending: Vec<_> = (0..count).map(|_| PendingCall::new()).collect();
    pending.iter().for_each(|pending| _ = calls.add(Some(vec![0; 4]), None, Arc::clone(pending)));
    calls.send_due(ready(2), Instant(0), |_, header| Some((header.number as u64 + 9, KEY)));
    (calls, pending)
}

fn payload(client: u64, number: i64, byte: u8) -> Vec<u8> {
    let mut payload = vec![0, 1, 0, 0, byte];
    CallHeader { client, number }.insert(&mut payload);
    payload
}

fn take_header(calls: &mut PendingCalls, from: u8, payload: &[u8]) -> Option<u64> {
    calls.on_reply(own(), Framing::Header, (guid(from, EntityId::user_writer(1)), None), payload)
}

fn take_inline(calls: &mut PendingCalls, from: u8, related: (Guid, i64)) -> Option<u64> {
    let related = SampleIdentity { guid: related.0, number: SequenceNumber(related.1) };
    let writer = guid(from, EntityId::user_writer(1));
    calls.on_reply(own(), Framing::InlineQos, (writer, Some(related)), &[0, 1, 0, 0, 9])
}

#[test]
fn reply_with_header_answers_its_call_only() {
    let (mut calls, pending) = sent(2);
    assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 2, 5)), None);
    assert_eq!(pending[1].take(), Some(Ok(Ok(vec![0, 1, 0, 0, 5]))));
    assert_eq!(pending[0].take(), None);
    assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 2, 6)), Some(1), "a second reply");
}

#[test]
fn reply_with_inline_qos_may_name_either_endpoint() {
    let (mut calls, pending) = sent(2);
    let [reader, writer] = own();
    assert_eq!(take_inline(&mut calls, 2, (reader, 10)), None);
    assert_eq!(take_inline(&mut calls, 2, (writer, 11)), None);
    assert!(pending.iter().all(|pending| pending.take() == Some(Ok(Ok(vec![0, 1, 0, 0, 9])))));
}

#[test]
fn replies_to_other_clients_are_passed_over() {
    let (mut calls, pending) = sent(1);
    assert_eq!(take_header(&mut calls, 2, &payload(CLIENT + 1, 1, 5)), None);
    assert_eq!(take_inline(&mut calls, 2, (server(3), 10)), None);
    assert_eq!(pending[0].take(), None);
}

#[test]
fn forged_and_unknown_replies_are_counted_and_ignored() {
    let (mut calls, pending) = sent(1);
    // From a participant that does not have the request, with unknown numbers, and without an identity.
    assert_eq!(take_header(&mut calls, 3, &payload(CLIENT, 1, 5)), Some(1));
    assert_eq!(take_inline(&mut calls, 3, (own()[0], 10)), Some(2));
    for (count, number) in (3..).zip([0, 2, -2, i64::MIN, i64::MAX]) {
        assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, number, 5)), Some(count), "{number}");
    }
    assert_eq!(take_inline(&mut calls, 2, (own()[0], -1)), Some(8));
    assert_eq!(take_header(&mut calls, 2, &[0, 1, 0]), Some(9));
    let writer = guid(2, EntityId::user_writer(1));
    assert_eq!(calls.on_reply(own(), Framing::InlineQos, (writer, None), &[]), Some(10));
    assert_eq!(pending[0].take(), None);
}

#[test]
fn negative_number_is_failure() {
    let (mut calls, pending) = sent(1);
    let mut payload = crate::rtps::failure("no motor");
    CallHeader { client: CLIENT, number: 1 }.of_failure().insert(&mut payload);
    assert_eq!(take_header(&mut calls, 2, &payload), None);
    assert_eq!(pending[0].take(), Some(Ok(Err("no motor".to_owned()))));
}

#[test]
fn requests_of_ended_server_go_to_the_next_one() {
    let (mut calls, pending) = sent(2);
    assert!(numbers(&mut calls, ready(3), Instant(0)).is_empty());
    calls.forget_server(server(2));
    assert!(calls.has_unsent());
    assert_eq!(numbers(&mut calls, ready(3), Instant(0)), [1, 2]);
    assert!(!calls.has_unsent());
    assert!(numbers(&mut calls, ready(4), Instant(0)).is_empty());
    assert_eq!(take_header(&mut calls, 4, &payload(CLIENT, 1, 5)), Some(1), "it does not have the request");
    assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 1, 5)), None, "of the first server");
    assert_eq!(take_inline(&mut calls, 2, (own()[0], 11)), None, "of the first server");
    assert!(pending.iter().all(|pending| pending.take().is_some()));
}

/// As `numbers`, after a check at which no request has been acknowledged.
fn numbers_after_check(calls: &mut PendingCalls, to: ReadyServer, now: Instant) -> Vec<i64> {
    calls.check_arrival(now, |_| (0..1000).collect());
    numbers(calls, to, now)
}

fn late(count: u32) -> Instant {
    Instant(0) + SILENCE * count
}

#[test]
fn silent_servers_get_a_request_once_each() {
    let (mut calls, _pending) = sent(1);
    assert!(numbers(&mut calls, ready(3), late(1)).is_empty(), "it may be acknowledged");
    assert_eq!(numbers_after_check(&mut calls, ready(3), late(1)), [1]);
    for (server, count) in [(2, 2), (3, 2), (2, 3), (3, 4)] {
        assert!(numbers_after_check(&mut calls, ready(server), late(count)).is_empty(), "{server}");
    }
    let (silent, _) = calls.check_arrival(late(4), |_| BTreeSet::from([10, 101]));
    assert_eq!(silent, BTreeSet::from([server(2), server(3)]));
    calls.forget_server(server(2));
    assert_eq!(numbers_after_check(&mut calls, ready(2), late(4)), [1], "it was unmatched");
    assert!(numbers_after_check(&mut calls, ready(2), late(6)).is_empty());
}

#[test]
fn servers_of_one_request_are_bounded() {
    let (mut calls, _pending) = sent(1);
    let gets = |calls: &mut PendingCalls, server| {
        !numbers_after_check(calls, ready(server), late(u32::from(server))).is_empty()
    };
    assert_eq!((3..100).filter(|server| gets(&mut calls, *server)).count(), MOST_SERVERS - 1);
    calls.forget_server(server(5));
    assert!(gets(&mut calls, 101));
    assert!(!gets(&mut calls, 103));
}

#[test]
fn unacknowledged_requests_of_silent_server_go_to_another_one() {
    let (mut calls, _pending) = sent(2);
    let missing = |_| BTreeSet::from([11]);
    assert_eq!(calls.check_arrival(Instant(0), missing), (BTreeSet::new(), Some(Instant(0) + SILENCE)));
    let late = Instant(0) + SILENCE;
    let (silent, next) = calls.check_arrival(late, missing);
    assert_eq!((silent, next.is_some()), (BTreeSet::from([server(2)]), true));
    assert_eq!(numbers(&mut calls, ready(3), late), [2]);
    assert_eq!(calls.check_arrival(late, |_| BTreeSet::new()), (BTreeSet::new(), None));
}

#[test]
fn server_that_returns_gets_no_acknowledged_request_again() {
    let (mut calls, pending) = sent(2);
    calls.check_arrival(Instant(0), |_| BTreeSet::from([11]));
    calls.forget_server(server(2));
    assert_eq!(numbers(&mut calls, ready(2), Instant(0)), [2]);
    assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 1, 5)), None);
    assert_eq!(pending[0].take(), Some(Ok(Ok(vec![0, 1, 0, 0, 5]))));
    calls.forget_server(server(2));
    let deduplicates = ReadyServer { deduplicates: true, ..ready(2) };
    calls.check_arrival(Instant(0), |_| BTreeSet::new());
    assert_eq!(numbers(&mut calls, deduplicates, Instant(0)), [2]);
}

#[test]
fn server_that_returns_gets_request_again_after_the_next_one_has_ended() {
    let (mut calls, _pending) = sent(1);
    calls.check_arrival(Instant(0), |_| BTreeSet::new());
    calls.forget_server(server(2));
    assert_eq!(numbers(&mut calls, ready(3), Instant(0)), [1]);
    let returned = ReadyServer { deduplicates: true, ..ready(2) };
    assert!(numbers(&mut calls, returned, Instant(0)).is_empty());
    calls.forget_server(server(3));
    assert_eq!(numbers(&mut calls, returned, Instant(0)), [1], "its reply may be lost");
}

#[test]
fn service_of_process_gets_unsent_requests_only() {
    let (mut calls, _pending) = sent(1);
    calls.add(Some(vec![7]), None, PendingCall::new());
    let mut given = Vec::new();
    calls.give_unsent(|number, request, _| given.push((number, request)));
    assert_eq!(given, [(2, vec![7])]);
    assert!(!calls.has_unsent() && !calls.is_empty());
}
