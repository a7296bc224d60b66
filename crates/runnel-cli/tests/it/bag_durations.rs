//! Durations: of the files of a recording, and of the part that is played.

use runnel_bag::{Message, Selection, open};
use runnel_testkit::process::{Signal, deadline_in};

use crate::bag_played::{DATA, MILLISECOND, Received, end, play, write};
use crate::bag_scene::{STEP, Scene, wait_until};

/// A domain for each test.
const SPLIT: u16 = 162;
const PLAYED: u16 = 163;

const SECOND: u64 = 1000 * MILLISECOND;

/// Log times of the messages in a file, in their order.
fn log_times(scene: &Scene, number: u32) -> Vec<u64> {
    let mut bag = open(&scene.path().join(format!("run_{number}.mcap"))).expect("a bag");
    let log_time = |message: Result<Message, _>| message.expect("sound").log_time;
    bag.messages(&Selection::default()).map(log_time).collect()
}

/// The message with which a file reaches its time is its last one.
#[test]
fn recorder_begins_the_next_file_after_its_duration() {
    let scene = Scene::ros2(SPLIT);
    let _talker = scene.peer(scene.path(), "topic pub --ros2 -r 50 /chatter std_msgs/String hello");
    let mut recorder = scene.peer(scene.path(), "bag record /chatter --split --duration 1 -O run.mcap");
    wait_until("three files are complete", || scene.path().join("run_3.mcap").exists());
    recorder.signal(Signal::INT).expect("it runs");
    assert!(recorder.wait_exit(deadline_in(STEP)).expect("it ends").success(), "{}", recorder.output());
    let files = [0, 1, 2].map(|number| log_times(&scene, number));
    for times in &files {
        let end = times[0] + SECOND;
        let (last, others) = times.split_last().expect("messages");
        assert!(*last >= end && others.iter().all(|time| *time < end), "{times:?}");
    }
    let all = files.concat();
    assert!(all.is_sorted(), "{all:?}");
}

#[test]
fn player_plays_the_messages_within_its_duration() {
    let scene = Scene::ros2(PLAYED);
    write(&scene, &[0, 1, 2, 3, 4].map(|seconds| (DATA, seconds * SECOND)));
    let received = Received::new(&scene);
    let options = "--immediate --start 0.5 --duration 2.5 --topics /data --wait-for-subscribers";
    let printed = end(play(&scene, options));
    assert!(printed.contains("played 3 messages of 1 topic"), "{printed}");
    assert_eq!(received.wait_for(3), [1, 2, 3], "the last one is at the end");
}
