//! A thread that stops nodes which do not end by themselves.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use runnel_wasm::{Ended, Guest, GuestControl, GuestError};

static STOPPER: LazyLock<Mutex<Stopper>> = LazyLock::new(|| Mutex::new(Stopper::start()));

struct Stopper {
    running: Sender<(GuestControl, Duration)>,
    ended: Sender<()>,
}

impl Stopper {
    fn start() -> Self {
        let (running, controls) = channel();
        let (ended, ends) = channel();
        thread::spawn(move || stop_all(controls, &ends));
        Self { running, ended }
    }
}

fn stop_all(controls: Receiver<(GuestControl, Duration)>, ends: &Receiver<()>) {
    for (control, patience) in controls {
        if ends.recv_timeout(patience).is_err() {
            control.stop();
            _ = ends.recv();
        }
    }
}

/// Runs a node on this thread, until it ends or is stopped after a time.
pub fn run(guest: Guest, patience: Duration) -> Result<Ended, GuestError> {
    let stopper = STOPPER.lock().unwrap_or_else(PoisonError::into_inner);
    stopper.running.send((guest.control(), patience)).expect("the thread runs");
    let ended = guest.run();
    stopper.ended.send(()).expect("the thread runs");
    ended
}
