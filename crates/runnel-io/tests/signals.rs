//! A signal that arrives while catching begins or ends.

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runnel_io::Reactor;
use runnel_io::signals::Interrupts;
use runnel_testkit::process::{Peer, Signal, within};

/// Set in the process that signals are sent to, which they may end.
const CATCHES: &str = "RUNNEL_IO_CATCHES";

#[test]
fn no_signal_is_lost_where_catching_begins_and_ends() {
    if env::var_os(CATCHES).is_some() {
        return catch_again_and_again();
    }
    for _ in 0..50 {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "no_signal_is_lost_where_catching_begins_and_ends", "--nocapture"]);
        command.env(CATCHES, "");
        let mut catching = Peer::spawn("catching", command).unwrap();
        catching.wait_for_line(|line| line.contains("begun"), within(30)).unwrap();
        catching.signal(Signal::INT).unwrap();
        // Caught or not, it ends.
        catching.wait_exit(within(30)).unwrap();
    }
}

fn catch_again_and_again() {
    let reactor = Reactor::new().unwrap();
    let caught = Arc::new(AtomicBool::new(false));
    // The very first time installs the handler, within which the registry may lose a signal.
    drop(Interrupts::catch(&caught, reactor.waker()).unwrap());
    println!("begun");
    while !caught.load(Ordering::SeqCst) {
        drop(Interrupts::catch(&caught, reactor.waker()).unwrap());
    }
}
