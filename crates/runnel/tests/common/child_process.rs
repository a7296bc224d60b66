//! Child processes with a role: the test executable again, started by one of its tests.
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

/// Environment variable with the role and its argument.
const ROLE: &str = "RUNNEL_TEST_PART";

/// First number of messages from child processes.
pub const FIRST_CHILD_NUMBER: u32 = 1 << 31;

/// Starts a child process with a role. Its test `entry` calls [`run_role_if_child`].
pub fn start(scene: &Scene, entry: &str, role: &str, argument: &str) -> Peer {
    start_at(&scene.graph.uri, entry, role, argument)
}

/// As [`start`], with this master.
pub fn start_at(master: &str, entry: &str, role: &str, argument: &str) -> Peer {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", entry, "--nocapture", "--test-threads=1"]);
    command.env(ROLE, format!("{role}\t{argument}")).env("ROS_MASTER_URI", master);
    Peer::spawn(role, command).unwrap()
}

/// Runs the role and exits, if this process is such a child.
pub fn run_role_if_child(play: impl FnOnce(&str, &str)) {
    let Ok(asked) = env::var(ROLE) else { return };
    // The child dies with the test, however that ends.
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let (role, argument) = asked.split_once('\t').unwrap();
    play(role, argument);
    std::process::exit(0);
}

/// Prints a line for the parent to wait for.
pub fn print_line(line: &str) {
    let mut out = std::io::stdout();
    // The test harness may have written a part of a line before.
    out.write_all(format!("\n{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

pub fn context() -> Context {
    Context::with_options(ContextOptions::default().arguments([""; 0])).unwrap()
}

/// Publishes without end, at a pace that subscribers can follow.
pub fn talk(sizes: &[usize]) {
    let context = context();
    let node = context.create_node(&format!("talker{}", std::process::id())).unwrap();
    let publisher = node.create_publisher::<UInt8MultiArray>("data", 1000).unwrap();
    print_line("ready");
    for number in 0.. {
        publisher
            .publish(numbered(FIRST_CHILD_NUMBER + number, sizes[number as usize % sizes.len()]))
            .unwrap();
        if publisher.shared_memory_count() > 0 && number % 100 == 0 {
            print_line("linked");
        }
        if number % 8 == 0 {
            context.sleep_wall(Duration::from_millis(10)).unwrap();
        }
    }
}
