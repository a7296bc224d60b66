//! What users can do with a recording while it runs: by keys, services and topics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::recording_clock::RecordingClock;
use crate::bag::record::sink::Sink;
use crate::streaming::lock;

/// Control of a recording. Clones control the same one.
#[derive(Clone)]
pub struct Control {
    sink: Arc<Mutex<Sink>>,
    clock: RecordingClock,
    switches: Arc<Switches>,
}

struct Switches {
    discovers: AtomicBool,
    is_stopped: AtomicBool,
}

impl Control {
    /// Control of the recording into this sink.
    pub fn new(sink: Arc<Mutex<Sink>>, clock: RecordingClock, discovers: bool) -> Self {
        let switches = Switches { discovers: AtomicBool::new(discovers), is_stopped: AtomicBool::new(false) };
        Self { sink, clock, switches: Arc::new(switches) }
    }

    /// Pauses the recording, or goes on; see [`Sink::set_paused`].
    pub fn set_paused(&self, is_paused: bool) {
        lock(&self.sink).set_paused(is_paused, self.clock.now());
    }

    /// Whether the recording is paused.
    pub fn is_paused(&self) -> bool {
        lock(&self.sink).is_paused()
    }

    /// Begins the next bag; see [`Sink::split`].
    pub fn split(&self) -> bool {
        lock(&self.sink).split(self.clock.now())
    }

    /// Writes the messages in memory; see [`Sink::snapshot`].
    pub fn snapshot(&self) -> bool {
        lock(&self.sink).snapshot(self.clock.now())
    }

    /// Ends the recording.
    pub fn stop(&self) {
        self.switches.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the recording is to end.
    pub fn is_stopped(&self) -> bool {
        self.switches.is_stopped.load(Ordering::Relaxed)
    }

    /// Sets whether topics that appear later are recorded. Returns what was set before.
    pub fn set_discovery(&self, discovers: bool) -> bool {
        self.switches.discovers.swap(discovers, Ordering::Relaxed)
    }

    /// Whether topics that appear later are recorded.
    pub fn discovers(&self) -> bool {
        self.switches.discovers.load(Ordering::Relaxed)
    }
}
