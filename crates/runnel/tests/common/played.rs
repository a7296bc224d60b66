//! Programs of their own that play a part: this test program again, started by a test of it.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::env;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, ContextOptions};
use runnel_testkit::process::Peer;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::ipc_scene::{Scene, numbered};

/// Names the part that a program plays where another started it.
const PART: &str = "RUNNEL_TEST_PART";

/// Numbers of what a played talker publishes begin here.
pub const THEIRS: u32 = 1 << 31;

/// Starts this program to play a part. Its test `entry` calls [`play_if_asked`].
pub fn start(scene: &Scene, entry: &str, part: &str, argument: &str) -> Peer {
    start_at(&scene.graph.uri, entry, part, argument)
}

/// As [`start`], with this master.
pub fn start_at(master: &str, entry: &str, part: &str, argument: &str) -> Peer {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", entry, "--nocapture", "--test-threads=1"]);
    command.env(PART, format!("{part}\t{argument}")).env("ROS_MASTER_URI", master);
    Peer::spawn(part, command).unwrap()
}

/// Plays a part, if this program was started for one, and ends it.
pub fn play_if_asked(play: impl FnOnce(&str, &str)) {
    let Ok(asked) = env::var(PART) else { return };
    // Whatever becomes of the test, this goes with it.
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let (part, argument) = asked.split_once('\t').unwrap();
    play(part, argument);
    std::process::exit(0);
}

/// A line that the test waits for.
pub fn say(line: &str) {
    let mut out = std::io::stdout();
    // At the beginning of a line, whatever the test harness wrote before.
    out.write_all(format!("\n{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

pub fn context() -> Context {
    Context::with_options(ContextOptions::default().arguments([""; 0])).unwrap()
}

/// Publishes at a pace that others can hear, until it is ended.
pub fn talk(sizes: &[usize]) {
    let context = context();
    let node = context.create_node(&format!("talker{}", std::process::id())).unwrap();
    let publisher = node.create_publisher::<UInt8MultiArray>("data", 1000).unwrap();
    say("ready");
    for number in 0.. {
        publisher.publish(numbered(THEIRS + number, sizes[number as usize % sizes.len()])).unwrap();
        if publisher.shared_memory_count() > 0 && number % 100 == 0 {
            say("linked");
        }
        if number % 8 == 0 {
            context.sleep_wall(Duration::from_millis(10)).unwrap();
        }
    }
}
