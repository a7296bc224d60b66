//! A player that runs: its pace, the services and keys that control it, and the clock that it publishes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::Command;

use runnel::Graphs;
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bag_played::{DATA, GATE, HOUR, MILLISECOND, Received, START, call, end, play, write};
use crate::bag_scene::{STEP, Scene, wait_until};

/// A domain for each test.
const LOOP: u16 = 151;
const EMPTY: u16 = 152;
const PAUSES: u16 = 153;
const CLOCK: u16 = 154;
const KEYS: u16 = 155;

fn wait_for_paused(scene: &Scene, paused: bool) {
    let expected = if paused { "paused=True" } else { "paused=False" };
    wait_until(expected, || call(scene, "is_paused", "").contains(expected));
}

#[test]
fn loop_plays_the_messages_again_in_order() {
    let scene = Scene::ros2(LOOP);
    write(&scene, &[0, 20, 40, 60].map(|time| (DATA, time * MILLISECOND)));
    let received = Received::new(&scene);
    let mut player = play(&scene, "--loop --topics /data --wait-for-subscribers");
    let numbers = received.wait_for(13);
    assert_eq!(numbers[..13], [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]);
    player.signal(Signal::INT).expect("it plays until it is interrupted");
    player.wait_exit(deadline_in(STEP)).expect("it ends");
}

#[test]
fn times_without_messages_are_skipped() {
    let scene = Scene::ros2(EMPTY);
    write(&scene, &[(DATA, 0), (DATA, HOUR), (DATA, HOUR + 20 * MILLISECOND), (DATA, 3 * HOUR)]);
    let received = Received::new(&scene);
    end(play(&scene, "--skip-empty 1 --topics /data --wait-for-subscribers"));
    assert_eq!(received.wait_for(4), [0, 1, 2, 3]);
}

#[test]
fn player_pauses_before_each_message_of_a_topic() {
    let scene = Scene::ros2(PAUSES);
    let topics = [DATA, DATA, GATE, DATA, GATE, DATA];
    let messages: Vec<_> = topics.into_iter().zip((0..).map(|number| number * 20 * MILLISECOND)).collect();
    write(&scene, &messages);
    let received = Received::new(&scene);
    let player = play(&scene, "--pause-topics /gate --wait-for-subscribers");
    // What the paused player would publish comes before the answer of its service.
    wait_for_paused(&scene, true);
    assert_eq!(received.sorted(2), [0, 1]);
    call(&scene, "resume", "");
    received.wait_for(4);
    wait_for_paused(&scene, true);
    assert_eq!(received.sorted(4), [0, 1, 2, 3]);
    call(&scene, "resume", "");
    assert_eq!(received.sorted(6), [0, 1, 2, 3, 4, 5]);
    end(player);
}

#[test]
fn node_on_simulated_time_follows_the_bag() {
    let scene = Scene::ros2(CLOCK);
    write(&scene, &[(DATA, 0), (DATA, HOUR), (DATA, 2 * HOUR)]);
    let simulated = scene.nodes(Graphs::Ros2, &["--ros-args", "-p", "use_sim_time:=true"]);
    let node = simulated.context.create_node("follower").expect("a node");
    let now = || u64::try_from(node.now().as_nanos()).expect("a time after 1970");
    let player = play(&scene, "--clock --pause");
    let is = |time: u64| wait_until(&format!("{time}, not {:?}", node.now()), || now() == time);
    is(START);
    let seconds = (START + HOUR / 2) / (1000 * MILLISECOND);
    let sought = call(&scene, "seek", &format!("{{time: {{sec: {seconds}}}}}"));
    assert!(sought.contains("success=True"), "{sought}");
    is(START + HOUR / 2);
    let stepped = call(&scene, "play_next", "");
    assert!(stepped.contains("success=True"), "{stepped}");
    is(START + HOUR);
    call(&scene, "resume", "");
    wait_until("time goes on", || now() > START + HOUR);
    assert!(now() < START + 2 * HOUR, "as fast as the bag: {:?}", node.now());
    call(&scene, "stop", "");
    end(player);
}

/// The player on a terminal.
struct Typed {
    player: Peer,
    keys: File,
}

impl Typed {
    /// The program `script` runs it on a pseudo terminal, and passes on what is written to a pipe.
    fn new(scene: &Scene, options: &str) -> Self {
        let pipe = scene.path().join("keys");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo of coreutils").success());
        // Open for reading as well, it waits for no reader.
        let keys = OpenOptions::new().read(true).write(true).open(&pipe).expect("a pipe");
        let mut command = scene.command("sh", scene.path());
        let line = format!("{} bag play run.mcap {options}", env!("CARGO_BIN_EXE_runnel"));
        command.args(["-c", "exec script -qec \"$0\" /dev/null <keys", &line]);
        Self { player: Peer::spawn("player", command).expect("sh"), keys }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it reads keys");
    }
}

#[test]
fn keys_pause_and_step() {
    let scene = Scene::ros2(KEYS);
    write(&scene, &[0, 1, 2, 3, 4].map(|hours| (DATA, hours * HOUR)));
    let received = Received::new(&scene);
    let mut typed = Typed::new(&scene, "--topics /data --wait-for-subscribers");
    assert_eq!(received.wait_for(1), [0]);
    // While it plays, nothing is stepped.
    typed.press("s ");
    wait_for_paused(&scene, true);
    typed.press("s");
    assert_eq!(received.wait_for(2), [0, 1]);
    // Cursor right.
    typed.press("\x1b[C");
    assert_eq!(received.wait_for(3), [0, 1, 2]);
    typed.press("s");
    received.wait_for(4);
    typed.press(" ");
    wait_for_paused(&scene, false);
    assert_eq!(received.numbers(), [0, 1, 2, 3], "one message for each key");
    // Ctrl-C.
    typed.press("\x03");
    typed.player.wait_exit(deadline_in(STEP)).expect("it ends");
    assert!(typed.player.output().contains("played 4 messages of 1 topic"), "{}", typed.player.output());
}
