//! Tests of messages in pieces, whose subscriber stops reading between two of them.

use std::thread;
use std::time::{Duration, Instant};

use crate::common::LONG;
use crate::end_ipc_connections::end_ipc_connections;
use crate::fake_process::{END, SAMPLE_BEGIN};
use crate::ipc_scene::{Scene, number_in};
use crate::numbers::numbered;
use crate::process::alone;
use crate::ros2_pair::{EndOnDrop, Pair};
use runnel::QoS;

#[test]
fn partly_read_message_arrives_by_connection() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    // It has not mapped the memory of these messages, and reads one piece of the second.
    scene.talk(1, 10);
    scene.talk(1, 20_000);
    reader.ipc_connection.wait_for(SAMPLE_BEGIN);
    scene.talk(1, 10);
    reader.ipc_connection.packets.shutdown().unwrap();
    reader.ipc_connection.set(END, 1);
    for number in [1, 2] {
        assert_eq!(number_in(&reader.next_message()[12..]), number);
    }
    drop(reader);
    scene.assert_undisturbed();
}

/// Capacity is granted while RTPS delivers the samples of one or several datagrams.
#[test]
fn keep_all_pair_survives_repeated_teardown() {
    const MANY: u32 = 20_000;
    let _alone = alone();
    let pair = Pair::new(QoS::keep_all());
    pair.switch_to_memory();
    thread::scope(|scope| {
        let _ends = [EndOnDrop(&pair.talking), EndOnDrop(&pair.listening)];
        let listens = scope.spawn(|| pair.listening.spin().unwrap());
        let talks = scope.spawn(|| {
            for number in 0..MANY {
                let size = if number % 11 == 10 { 20_000 } else { 10 };
                pair.publisher.publish(numbered(number, size)).unwrap();
            }
        });
        let until = Instant::now() + LONG;
        let received = || pair.received.lock().unwrap().len();
        while !listens.is_finished() && received() < MANY as usize && pair.subscription.lost() == 0 {
            assert!(Instant::now() < until, "{} of {MANY}, {} lost", received(), pair.subscription.lost());
            // A new IPC connection takes a while.
            thread::sleep(Duration::from_millis(20));
            end_ipc_connections();
        }
        assert_eq!((pair.subscription.lost(), pair.subscription.dropped()), (0, 0));
        talks.join().unwrap();
    });
    let received = pair.received.lock().unwrap();
    let wrong = (0..).zip(received.iter().copied()).find(|(due, number)| due != number);
    assert_eq!(
        (wrong, received.len()),
        (None, MANY as usize),
        "the number that was due, and the one that came"
    );
}
