//! The order in which a player plays: after a jump, from file to file, and at the pace of a node.

use std::sync::{Arc, Mutex, PoisonError};

use runnel::QoS;
use runnel::msgs::rosbag2_interfaces::msg::ReadSplitEvent;
use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel_bag::Channel;
use runnel_bag::files::Folder;
use runnel_bag::mcap::Profile;
use runnel_bag::rosbag2::{FolderWriter, offered_qos};

use crate::bag_played::{
    DATA, GATE, HOUR, MILLISECOND, Received, START, call, channel, end, play, write, write_into, write_sent,
};
use crate::bag_scene::{Scene, wait_until};

/// A domain for each test.
const JUMPS: u16 = 156;
const SPLITS: u16 = 157;
const RATES: u16 = 158;
const ORDERS: u16 = 159;
const HELD: u16 = 160;

const SECOND: u64 = 1000 * MILLISECOND;

#[test]
fn latched_messages_come_again_after_a_jump() {
    let scene = Scene::ros2(JUMPS);
    let offered = offered_qos::to_yaml(&[(QoS::keep_last(1).transient_local(), true)]);
    let latched = Channel { offered_qos: Some(offered), ..channel(GATE) };
    let messages =
        [(GATE, 0), (GATE, 1), (DATA, HOUR), (DATA, 2 * HOUR)].map(|(topic, time)| (topic, time, time));
    write_sent(&scene, [channel(DATA), latched], &messages);
    let received = Received::new(&scene);
    let player = play(&scene, "--pause --wait-for-subscribers");
    let seek = |time: u64| {
        let seconds = (START + time) / SECOND;
        let sought = call(&scene, "seek", &format!("{{time: {{sec: {seconds}}}}}"));
        assert!(sought.contains("success=True"), "{sought}");
    };
    seek(HOUR + SECOND);
    assert_eq!(received.wait_for(1), [1], "the last latched message from before");
    assert!(call(&scene, "play_next", "").contains("success=True"));
    assert_eq!(received.sorted(2), [1, 3]);
    seek(HOUR / 2);
    assert_eq!(received.sorted(3), [1, 1, 3]);
    call(&scene, "stop", "");
    end(player);
}

#[test]
fn next_file_of_a_folder_is_announced() {
    let scene = Scene::ros2(SPLITS);
    let folder = Folder::create(&scene.path().join("run")).expect("a folder");
    let mut writer = FolderWriter::new(folder, "run", "");
    for number in 0..3_u64 {
        let mut file = writer.begin_file(Profile::Ros2).expect("a file");
        let time = number * HOUR;
        write_into(&mut file, &[channel(DATA), channel(GATE)], &[(DATA, time, time)], number);
    }
    writer.write_metadata().expect("written");
    let received = Received::new(&scene);
    let events = Arc::new(Mutex::new(Vec::new()));
    let take = {
        let events = Arc::clone(&events);
        move |event: &ReadSplitEvent| {
            let pair = [&event.closed_file, &event.opened_file]
                .map(|file| file.rsplit('/').next().map(str::to_owned));
            events.lock().unwrap_or_else(PoisonError::into_inner).push((pair, event.node_name.clone()));
        }
    };
    let node = received.context().create_node("observer").expect("a node");
    let subscription =
        node.create_subscription("/events/read_split", QoS::keep_last(10), take).expect("subscribed");
    let player = scene.peer(scene.path(), "bag play run --pause --topics /data --wait-for-subscribers");
    wait_until("the player announces files", || subscription.publisher_count() > 0);
    let burst = call(&scene, "burst", "{num_messages: 3}");
    assert!(burst.contains("actually_burst=3"), "{burst}");
    assert_eq!(received.wait_for(3), [0, 1, 2]);
    let known = || events.lock().unwrap_or_else(PoisonError::into_inner).clone();
    wait_until("both are announced", || known().len() >= 2);
    let name = |number: u64| Some(format!("run_{number}.mcap"));
    let expected = [0, 1].map(|closed| ([name(closed), name(closed + 1)], "/rosbag2_player".to_owned()));
    assert_eq!(known(), expected);
    call(&scene, "stop", "");
    end(player);
}

#[test]
fn player_waits_for_the_rate_control_topic() {
    let scene = Scene::ros2(RATES);
    write(&scene, &[0, 10, 20].map(|seconds| (DATA, seconds * SECOND)));
    let received = Received::new(&scene);
    let options =
        "-r 1000 --topics /data --wait-for-subscribers --rate-control-topic /done --rate-control-max-delay 5";
    let player = play(&scene, options);
    let reached = |seconds: u64| {
        let mut command =
            scene.runnel(scene.path(), "topic pub --once --ros2 /done geometry_msgs/PointStamped");
        let stamp = START / SECOND + seconds;
        let output =
            command.arg(format!("{{header: {{stamp: {{sec: {stamp}}}}}}}")).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
    };
    assert_eq!(received.wait_for(1), [0]);
    // A call takes much longer than the bag at this rate.
    assert!(call(&scene, "is_paused", "").contains("paused=False"));
    assert_eq!(received.numbers(), [0], "nobody has reached the second message");
    reached(5);
    assert_eq!(received.wait_for(2), [0, 1]);
    reached(30);
    assert_eq!(received.wait_for(3), [0, 1, 2]);
    end(player);
}

#[test]
fn clock_stands_still_during_rate_control() {
    let scene = Scene::ros2(HELD);
    write(&scene, &[0, 10, 20].map(|seconds| (DATA, seconds * SECOND)));
    let received = Received::new(&scene);
    let times = Arc::new(Mutex::new(Vec::new()));
    let take = {
        let times = Arc::clone(&times);
        move |time: &Clock| {
            let nanos = u64::try_from(time.clock.as_nanos()).expect("a time after 1970");
            times.lock().unwrap_or_else(PoisonError::into_inner).push(nanos - START);
        }
    };
    let node = received.context().create_node("observer").expect("a node");
    let _clock = node.create_subscription("/clock", QoS::keep_last(1000), take).expect("subscribed");
    // At this rate the next step of the player is 0.2 s of the bag.
    let options = "-r 10 --clock=50 --topics /data --wait-for-subscribers --rate-control-topic /done";
    let player = play(&scene, options);
    let known = || times.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let is_held = || known().iter().filter(|time| **time >= 10 * SECOND).count() > 20;
    wait_until("the second message is held", is_held);
    assert_eq!(received.numbers(), [0]);
    let times = known();
    assert!(times.is_sorted() && times.last() == Some(&(10 * SECOND)), "{times:?}");
    call(&scene, "stop", "");
    end(player);
}

#[test]
fn messages_are_played_in_the_order_of_sending() {
    let scene = Scene::ros2(ORDERS);
    let messages = [(DATA, 5, 4), (DATA, 6, 1), (DATA, 7, 3)];
    write_sent(&scene, [channel(DATA), channel(GATE)], &messages);
    let received = Received::new(&scene);
    for (options, expected) in [("", [0, 1, 2]), ("--message-order sent", [1, 2, 0])] {
        let before = received.numbers().len();
        end(play(&scene, format!("-i --topics /data --wait-for-subscribers {options}").trim_end()));
        assert_eq!(received.wait_for(before + 3)[before..], expected, "{options}");
    }
}
