//! Messages that go through the ring in pieces, whose subscriber stops reading between two of them.

use std::thread;
use std::time::{Duration, Instant};

use crate::common::LONG;
use crate::end_sessions::end_sessions;
use crate::fake_process::{END, SAMPLE_BEGIN};
use crate::ipc_scene::{Scene, number_in};
use crate::numbers::numbered;
use crate::process::alone;
use crate::ros2_pair::{Ends, Pair};
use runnel::QoS;

#[test]
fn partly_read_message_arrives_by_connection() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    // It has not mapped the memory in which these lie, and reads one piece of the second.
    scene.talk(1, 10);
    scene.talk(1, 20_000);
    reader.session.wait_for(SAMPLE_BEGIN);
    scene.talk(1, 10);
    reader.session.packets.shutdown().unwrap();
    reader.session.set(END, 1);
    for number in [1, 2] {
        assert_eq!(number_in(&reader.message_of_connection()[12..]), number);
    }
    drop(reader);
    scene.is_undisturbed();
}

/// Room for more messages is made while RTPS hands out what several datagrams, or one, have brought.
#[test]
fn keep_all_pair_survives_repeated_teardown() {
    const MANY: u32 = 20_000;
    let _alone = alone();
    let pair = Pair::new(QoS::keep_all());
    pair.go_over();
    thread::scope(|scope| {
        let _ends = [Ends(&pair.talking), Ends(&pair.listening)];
        let listens = scope.spawn(|| pair.listening.spin().unwrap());
        let talks = scope.spawn(|| {
            for number in 0..MANY {
                let size = if number % 11 == 10 { 20_000 } else { 10 };
                pair.publisher.publish(numbered(number, size)).unwrap();
            }
        });
        let until = Instant::now() + LONG;
        let heard = || pair.heard.lock().unwrap().len();
        while !listens.is_finished() && heard() < MANY as usize && pair.subscription.lost() == 0 {
            assert!(Instant::now() < until, "{} of {MANY}, {} lost", heard(), pair.subscription.lost());
            // A session comes back after a while.
            thread::sleep(Duration::from_millis(20));
            end_sessions();
        }
        assert_eq!((pair.subscription.lost(), pair.subscription.dropped()), (0, 0));
        talks.join().unwrap();
    });
    let heard = pair.heard.lock().unwrap();
    let wrong = (0..).zip(heard.iter().copied()).find(|(due, number)| due != number);
    assert_eq!((wrong, heard.len()), (None, MANY as usize), "the number that was due, and the one that came");
}
