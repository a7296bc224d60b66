//! Tests of ROS 2 pairs with samples from RTPS and shared memory, sent by a fake talker.

use std::time::Duration;

use crate::fake_talker::FakeTalker;
use runnel::QoS;

/// No later sample of RTPS shows that the missing ones will not arrive.
#[test]
fn samples_skipped_by_rtps_do_not_block_memory() {
    let mut talker = FakeTalker::new(QoS::keep_last(10).lifespan(Duration::from_secs(1)));
    talker.rtps.muted = Some(talker.writer);
    (0..3).for_each(|number| talker.write(number));
    let suspended = talker.open();
    assert_eq!((suspended.first_unacknowledged.0, suspended.next.0), (1, 4));
    (3..6).for_each(|number| talker.push(u64::from(number) + 1, number));
    talker.poll_until("samples of shared memory", |talker| talker.received().len() == 3);
    assert_eq!((talker.received(), talker.subscription.lost()), (vec![3, 4, 5], 3));
}

/// Samples sent by shared memory before that would add to the held ones.
#[test]
fn listener_requests_memory_after_delivering_held_samples() {
    let mut talker = FakeTalker::new(QoS::keep_last(10));
    talker.rtps.muted = Some(talker.writer);
    talker.write(0);
    talker.open();
    (1..4).for_each(|number| talker.push(u64::from(number) + 1, number));
    talker.change_secret();
    assert!(!talker.has_request());
    assert!(talker.received().is_empty());
    talker.rtps.muted = None;
    talker.poll_until("all of both", |talker| talker.received().len() == 4);
    talker.poll_until("the listener asks again", FakeTalker::has_request);
    assert_eq!((talker.received(), talker.subscription.lost()), (vec![0, 1, 2, 3], 0));
}
