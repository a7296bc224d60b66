//! Signals that arrive while catching begins or ends.

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use runnel_io::Reactor;
use runnel_io::signals::Interrupts;
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Set in the process that receives signals, which may end it.
const CATCHES: &str = "RUNNEL_IO_CATCHES";

/// Set in the process whose waits are ended by signals, which must not end it.
const HOLDS: &str = "RUNNEL_IO_HOLDS";

/// Most waits that this process holds and ends, and the longest time for it.
const SIGNALS: u32 = 30_000;
const LASTING: Duration = Duration::from_secs(5);

#[test]
fn catching_loses_no_signal_at_start_or_end() {
    if env::var_os(CATCHES).is_some() {
        return catch_repeatedly();
    }
    for _ in 0..50 {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "catching_loses_no_signal_at_start_or_end", "--nocapture"]);
        command.env(CATCHES, "");
        let mut catching = Peer::spawn("catching", command).unwrap();
        catching.wait_for_line(|line| line.contains("begun"), deadline_in(30)).unwrap();
        catching.signal(Signal::INT).unwrap();
        // Caught or not, the signal ends it.
        catching.wait_exit(deadline_in(30)).unwrap();
    }
}

fn catch_repeatedly() {
    let reactor = Reactor::new().unwrap();
    let caught = Arc::new(AtomicBool::new(false));
    // The first call installs the handler, during which the registry may lose a signal.
    drop(Interrupts::catch(&caught, reactor.waker()).unwrap());
    println!("begun");
    while !caught.load(Ordering::SeqCst) {
        drop(Interrupts::catch(&caught, reactor.waker()).unwrap());
    }
}

#[test]
fn signal_ends_held_wait_but_not_process() {
    if env::var_os(HOLDS).is_some() {
        return hold_repeatedly();
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "signal_ends_held_wait_but_not_process", "--nocapture"]);
    command.env(HOLDS, "");
    let mut holding = Peer::spawn("holding", command).unwrap();
    assert!(holding.wait_exit(deadline_in(60)).unwrap().success(), "{}", holding.output());
}

/// Releases the hold on this thread as soon as the signal is seen, while another thread still handles it. Another
/// user of the signals has no hold.
fn hold_repeatedly() {
    let reactor = Reactor::new().unwrap();
    let caught = Arc::new(AtomicBool::new(false));
    let interrupts = Interrupts::catch(&caught, reactor.waker()).unwrap();
    let _second = Interrupts::catch(&caught, reactor.waker()).unwrap();
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

/// Yields now and then, since there may be one core.
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let mut looks = 0;
    while !is_so() {
        looks += 1;
        if looks % 256 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
}
