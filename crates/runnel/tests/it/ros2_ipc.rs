//! Tests of ROS 2 topics between processes of one host: pairs switch to shared memory and fall back, and no message is
//! lost, doubled or reordered.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::LONG;
use crate::ros2_pair::{EndOnDrop, Pair, context, listen, new_domain, numbered};
use runnel::QoS;
use runnel::msgs::sensor_msgs::msg::Image;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;

#[test]
fn local_pair_switches_to_shared_memory() {
    for qos in [QoS::default(), QoS::sensor_data(), QoS::keep_last(5).transient_local()] {
        let pair = Pair::new(qos);
        pair.switch_to_memory();
        assert_eq!((pair.publisher.subscription_count(), pair.subscription.publisher_count()), (1, 1));
        for number in 0..200 {
            // Of all lengths: in the ring, in a slot, and longer than the ring.
            let size = [10, 1000, 5000, 20_000, 200_000][number as usize % 5];
            pair.publisher.publish(numbered(number, size)).unwrap();
            // One at a time: on a busy machine a poll may not receive it, and the depth is small.
            pair.poll_until("it is received", |pair| pair.received.lock().unwrap().len() > number as usize);
        }
        pair.receives(0..200);
    }
}

#[test]
fn handover_of_pair_loses_and_doubles_nothing() {
    for qos in [QoS::keep_last(2000), QoS::keep_last(2000).best_effort()] {
        let pair = Pair::new(qos);
        pair.poll_until("they match", |pair| {
            pair.publisher.subscription_count() == 1 && pair.subscription.publisher_count() == 1
        });
        let mut number = 0;
        let mut after = 0;
        while after < 200 {
            pair.publisher.publish(numbered(number, 10)).unwrap();
            number += 1;
            after += u32::from(pair.publisher.shared_memory_count() == 1);
            pair.turn();
        }
        pair.receives(0..number);
    }
}

#[test]
fn context_without_ipc_stays_on_the_network() {
    let domain = new_domain();
    let (talking, listening) = (context(domain, true), context(domain, false));
    let (talker, listener) =
        (talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap());
    let publisher = talker.create_publisher::<UInt8MultiArray>("data", 100).unwrap();
    let (subscription, received) = listen(&listener, "data", QoS::keep_last(100));
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    for number in 0..50 {
        publisher.publish(numbered(number, 10)).unwrap();
    }
    let until = Instant::now() + LONG;
    while received.lock().unwrap().len() < 50 {
        assert!(Instant::now() < until, "all received");
        listening.spin_once(Duration::from_millis(10)).unwrap();
        talking.spin_once(Duration::from_millis(1)).unwrap();
    }
    assert_eq!((publisher.shared_memory_count(), subscription.shared_memory_count()), (0, 0));
}

#[test]
fn late_joiner_gets_kept_samples_then_shared_memory() {
    let domain = new_domain();
    let (talking, listening) = (context(domain, true), context(domain, true));
    let (talker, listener) =
        (talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap());
    let qos = QoS::keep_last(3).transient_local();
    let publisher = talker.create_publisher::<UInt8MultiArray>("data", qos).unwrap();
    let (early, _) = listen(&listener, "data", qos);
    let until = Instant::now() + LONG;
    let turn = |what: &str| {
        assert!(Instant::now() < until, "timed out: {what}");
        talking.spin_once(Duration::from_millis(1)).unwrap();
        listening.spin_once(Duration::from_millis(1)).unwrap();
    };
    while early.shared_memory_count() == 0 || publisher.shared_memory_count() == 0 {
        turn("the first in shared memory");
    }
    for number in 0..5 {
        publisher.publish(numbered(number, 5000)).unwrap();
    }
    let (late, received) = listen(&listener, "data", QoS::keep_last(10).transient_local());
    while late.shared_memory_count() == 0 || publisher.shared_memory_count() < 2 {
        turn("the second in shared memory");
    }
    publisher.publish(numbered(5, 5000)).unwrap();
    while received.lock().unwrap().len() < 4 {
        turn("all received");
    }
    assert_eq!(*received.lock().unwrap(), [2, 3, 4, 5]);
}

#[test]
fn slow_subscriber_loses_only_beyond_depth() {
    let pair = Pair::new(QoS::keep_last(10));
    pair.switch_to_memory();
    // The ring holds 256 KiB. The listener's background thread also reads from it.
    let (mut number, until) = (0, Instant::now() + LONG);
    while number < 5000 || pair.publisher.dropped() == 0 {
        assert!(Instant::now() < until, "nothing is dropped");
        pair.publisher.publish(numbered(number, 1000)).unwrap();
        number += 1;
    }
    pair.poll_until("the last is received", |pair| {
        pair.received.lock().unwrap().last() == Some(&(number - 1))
    });
    let received = pair.received.lock().unwrap();
    assert!(received.is_sorted_by(|one, other| one < other));
}

#[test]
fn image_arrives_whole_and_slot_is_released() {
    let domain = new_domain();
    let (talking, listening) = (context(domain, true), context(domain, true));
    let (camera, viewer) = (talking.create_node("camera").unwrap(), listening.create_node("viewer").unwrap());
    let publisher = camera.create_publisher::<Image>("image", 2).unwrap();
    let seen = Arc::new(Mutex::new(0_u32));
    let into = Arc::clone(&seen);
    let _images = viewer
        .create_subscription("image", 2, move |image: &Image| {
            assert!(image.data.iter().all(|byte| *byte == image.height as u8));
            *into.lock().unwrap() = image.height;
        })
        .unwrap();
    let until = Instant::now() + LONG;
    let turn = |what: &str| {
        assert!(Instant::now() < until, "timed out: {what}");
        talking.spin_once(Duration::from_millis(1)).unwrap();
        listening.spin_once(Duration::from_millis(1)).unwrap();
    };
    while publisher.shared_memory_count() == 0 {
        turn("the pair in shared memory");
    }
    for height in 1..=300 {
        // Each has 2 MB: together they exceed the lending quota.
        publisher.publish(Image { height, data: vec![height as u8; 2_000_000], ..Image::default() }).unwrap();
        while *seen.lock().unwrap() != height {
            turn("it is seen");
        }
    }
    assert_eq!((publisher.dropped(), publisher.shm_fallback_count()), (0, 0));
}

#[test]
fn ten_thousand_messages_survive_the_handover() {
    let pair = Pair::new(QoS::keep_last(10_000));
    pair.poll_until("they match", |pair| {
        pair.publisher.subscription_count() == 1 && pair.subscription.publisher_count() == 1
    });
    std::thread::scope(|scope| {
        let _ends = EndOnDrop(&pair.listening);
        scope.spawn(|| pair.listening.spin().unwrap());
        let publish = |numbers: Range<u32>| {
            numbers.for_each(|number| pair.publisher.publish(numbered(number, 10)).unwrap());
        };
        let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
            let until = Instant::now() + LONG;
            while !is_so() {
                assert!(Instant::now() < until, "timed out: {what}");
                pair.talking.spin_once(Duration::from_millis(1)).unwrap();
            }
        };
        publish(0..9000);
        // On a busy host all of these may arrive before the pair switches.
        wait_until("the pair in shared memory", &|| pair.publisher.shared_memory_count() == 1);
        publish(9000..10_000);
        wait_until("all received", &|| pair.received.lock().unwrap().len() == 10_000);
    });
    assert!(pair.received.lock().unwrap().iter().copied().eq(0..10_000));
    assert_eq!((pair.subscription.dropped(), pair.publisher.dropped()), (0, 0));
}

#[test]
fn keep_all_publisher_waits_for_slow_callback_in_memory() {
    let pair = Pair::new(QoS::keep_all());
    pair.switch_to_memory();
    let mut publisher = pair.publisher.clone();
    publisher.set_max_blocking_time(Duration::from_millis(20));
    let mut published = 0;
    // No callbacks run: the listener's queues are bounded.
    while publisher.publish(numbered(published, 10)).is_ok() {
        published += 1;
        assert!(published < 20_000, "the publisher does not wait");
        if published % 100 == 0 {
            pair.talking.spin_once(Duration::ZERO).unwrap();
        }
    }
    assert!(published >= 1000, "{published}");
    pair.receives(0..published);
    publisher.set_max_blocking_time(LONG);
    for number in published..published + 2000 {
        publisher.publish(numbered(number, 10)).unwrap();
        pair.turn();
    }
    pair.receives(0..published + 2000);
    assert_eq!((pair.publisher.shared_memory_count(), pair.subscription.lost()), (1, 0));
}
