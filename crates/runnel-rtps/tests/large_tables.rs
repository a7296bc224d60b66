//! Tables that one remote address can fill: twenty thousand endpoints, which all match one local endpoint.

mod net;

use net::{Net, Stranger, message};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::announce::Role;
use runnel_rtps::wire::{Data, EntityId, Payload, SequenceNumber};
use runnel_testkit::counting_allocator::{CountingAllocator, begin_largest_block, largest_block};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TOPIC: &str = "rt/live";
const PARTICIPANTS: u8 = 5;
/// Endpoints of each participant, and of all.
const ENDPOINTS: u32 = 4000;
const ALL: usize = PARTICIPANTS as usize * ENDPOINTS as usize;

/// Bytes of a list of indices or pointers to all endpoints. An insertion into a sorted list moves up to all its bytes,
/// so no list of larger entries may grow with the endpoints of an address.
const LARGEST_LIST: usize = ALL.next_power_of_two() * size_of::<usize>();

/// Announces endpoints of one role for a participant, in datagrams of twenty.
fn announce_all(net: &mut Net, stranger: &Stranger, like: EntityId, role: Role) {
    let ends = match role {
        Role::Writer => (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER),
        Role::Reader => (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER),
    };
    // Descending ids, so that each one is inserted before the earlier ones.
    let numbers: Vec<u32> = (1..=ENDPOINTS).collect();
    for chunk in numbers.chunks(20) {
        let bytes = message(stranger.prefix, |out| {
            for number in chunk {
                let entity = match role {
                    Role::Writer => EntityId::user_writer(ENDPOINTS + 1 - number),
                    Role::Reader => EntityId::user_reader(ENDPOINTS + 1 - number),
                };
                let mut payload = vec![];
                stranger.endpoint(net, like, entity).emit(&mut payload);
                Data::emit(out, ends, SequenceNumber((*number).into()), &[], Payload::Value(&payload));
            }
        });
        let (now, participant) = (net.now, &mut net.nodes[0].participant);
        participant.handle_datagram(now, stranger.address, &bytes);
        while participant.poll_event().is_some() {}
    }
}

/// Ends a participant.
fn say_farewell(net: &mut Net, stranger: &Stranger) {
    let guid = stranger.prefix.with(EntityId::PARTICIPANT).to_bytes();
    let key_hash = [&[0x70, 0, 16, 0][..], &guid].concat();
    let gone = [&key_hash[..], &[0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0]].concat();
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    let bytes = message(stranger.prefix, |out| {
        Data::emit(out, ends, SequenceNumber(1 << 40), &gone, Payload::Nothing);
    });
    let now = net.now;
    net.nodes[0].participant.handle_datagram(now, stranger.address, &bytes);
    net.touch(0);
}

/// Matches all endpoints of `role` with a local one, and ends all participants. Returns the bytes of the largest block
/// that was allocated while the endpoints of the last participant were matched.
fn matched_and_lost(role: Role) -> usize {
    let mut net = Net::new(1);
    net.add();
    // Best effort: reliable readers would be sent heartbeats.
    let qos = QoS::keep_last(10).best_effort();
    let (local, like) = match role {
        Role::Writer => (net.reader(0, TOPIC, qos), net.writer(0, TOPIC, qos)),
        Role::Reader => (net.writer(0, TOPIC, qos), net.reader(0, TOPIC, qos)),
    };
    let strangers: Vec<Stranger> =
        (1..=PARTICIPANTS).rev().map(|number| Stranger::discover(&mut net, number)).collect();
    let matched = |net: &Net| net.nodes[0].participant.matched(local).len();
    for stranger in &strangers {
        begin_largest_block();
        announce_all(&mut net, stranger, like, role);
    }
    let largest = largest_block();
    assert_eq!(matched(&net), ALL);
    net.nodes[0].events.clear();
    strangers.iter().for_each(|stranger| say_farewell(&mut net, stranger));
    let events = std::mem::take(&mut net.nodes[0].events);
    let unmatched = events.iter().filter(|event| matches!(event, Event::Unmatched { .. })).count();
    let lost = events.iter().filter(|event| matches!(event, Event::EndpointLost(_))).count();
    assert_eq!((matched(&net), unmatched, lost), (0, ALL, ALL));
    largest
}

#[test]
fn thousands_of_matched_writers_fill_no_long_sorted_list() {
    let largest = matched_and_lost(Role::Writer);
    assert!(largest <= LARGEST_LIST, "{largest} bytes");
}

#[test]
fn thousands_of_matched_readers_fill_no_long_sorted_list() {
    let largest = matched_and_lost(Role::Reader);
    assert!(largest <= LARGEST_LIST, "{largest} bytes");
}
