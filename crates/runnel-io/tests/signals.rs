//! A signal that arrives while catching begins or ends.

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use runnel_io::Reactor;
use runnel_io::signals::Interrupts;
use runnel_testkit::process::{Peer, Signal, within};

/// Set in the process that signals are sent to, which they may end.
const CATCHES: &str = "RUNNEL_IO_CATCHES";

/// Set in the process whose waits are ended by signals, which must not end it.
const HOLDS: &str = "RUNNEL_IO_HOLDS";

/// How many waits that process holds and has ended at most, and for how long it does so.
const SIGNALS: u32 = 30_000;
const LASTING: Duration = Duration::from_secs(5);

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

#[test]
fn signal_that_ends_a_held_wait_does_not_end_the_process() {
    if env::var_os(HOLDS).is_some() {
        return hold_again_and_again();
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "signal_that_ends_a_held_wait_does_not_end_the_process", "--nocapture"]);
    command.env(HOLDS, "");
    let mut holding = Peer::spawn("holding", command).unwrap();
    assert!(holding.wait_exit(within(60)).unwrap().success(), "{}", holding.output());
}

/// Lets go on this thread as soon as the signal is seen that another one has yet to handle to its end. Another one that
/// catches the signals, too, has no hold of its own.
fn hold_again_and_again() {
    let reactor = Reactor::new().unwrap();
    let caught = Arc::new(AtomicBool::new(false));
    let interrupts = Interrupts::catch(&caught, reactor.waker()).unwrap();
    let _beside = Interrupts::catch(&caught, reactor.waker()).unwrap();
    let (waits, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for wait in 1..=SIGNALS {
                wait_until(|| waits.load(Ordering::SeqCst) >= wait || is_over.load(Ordering::SeqCst));
                if waits.load(Ordering::SeqCst) < wait {
                    return;
                }
                // Handled by this thread, before the call returns.
                // SAFETY: takes a number, and the signal has a handler.
                assert_eq!(unsafe { libc::raise(libc::SIGINT) }, 0);
            }
        });
        let end = Instant::now() + LASTING;
        for wait in (1..=SIGNALS).take_while(|_| Instant::now() < end) {
            let hold = interrupts.hold();
            waits.store(wait, Ordering::SeqCst);
            wait_until(|| hold.is_interrupted());
            drop(hold);
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

/// Gives way now and then: there may be one core.
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let mut looks = 0;
    while !is_so() {
        looks += 1;
        if looks % 256 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}
