//! The frames of a link that wait: to be sent, and to be received by the program.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use runnel_io::Waker;

use super::{FOREVER, LinkError};

/// Called when a frame has arrived, or the link has ended.
pub type OnReceived = Box<dyn Fn() + Send>;

/// What a frame takes in addition to its bytes, so that empty frames are limited, too.
const OVERHEAD: usize = 64;

/// What the program and the thread of a link exchange.
pub struct Queues {
    /// Bytes that each of the queues takes.
    limit: usize,
    state: Mutex<State>,
    space: Condvar,
    arrival: Condvar,
    on_received: Mutex<Option<OnReceived>>,
    waker: Waker,
}

#[derive(Default)]
struct State {
    outgoing: Queue,
    incoming: Queue,
    /// The thread reads nothing until the program has received something.
    is_paused: bool,
    /// The program has dropped the link.
    is_closing: bool,
    round_trip: Option<Duration>,
    end: Option<LinkError>,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Queue {
    fn push(&mut self, frame: Vec<u8>) {
        self.bytes += frame.len() + OVERHEAD;
        self.frames.push_back(frame);
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.len() + OVERHEAD;
        Some(frame)
    }
}

/// Why a frame was not queued.
pub enum NotQueued {
    /// There was no space within the time-out: so many bytes wait.
    Full(usize),
    Ended(LinkError),
}

impl Queues {
    /// The waker is that of the thread of the link.
    pub fn new(limit: usize, waker: Waker) -> Self {
        let (space, arrival) = Default::default();
        Self { limit, state: Mutex::default(), space, arrival, on_received: Mutex::default(), waker }
    }

    /// Queues a frame to be sent, once there is space.
    pub fn push(&self, frame: Vec<u8>, timeout: Duration) -> Result<(), NotQueued> {
        let is_full = |state: &mut State| {
            let bytes = state.outgoing.bytes;
            state.end.is_none() && bytes > 0 && bytes.saturating_add(frame.len()) > self.limit
        };
        let waited = self.space.wait_timeout_while(self.lock(), timeout, is_full);
        let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = &state.end {
            return Err(NotQueued::Ended(end.clone()));
        }
        if waited.timed_out() {
            return Err(NotQueued::Full(state.outgoing.bytes));
        }
        state.outgoing.push(frame);
        drop(state);
        self.waker.wake();
        Ok(())
    }

    /// The next received frame. Those that arrived before the link ended come before its end.
    pub fn pop(&self, timeout: Duration) -> Result<Option<Vec<u8>>, LinkError> {
        let until = Instant::now() + timeout.min(FOREVER);
        let mut state = self.lock();
        loop {
            if let Some(frame) = state.incoming.pop() {
                let resumes = state.is_paused && state.incoming.bytes < self.limit;
                state.is_paused &= !resumes;
                drop(state);
                if resumes {
                    self.waker.wake();
                }
                return Ok(Some(frame));
            }
            if let Some(end) = &state.end {
                return Err(end.clone());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            state = self.arrival.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sets what is called for frames, also for those that wait already.
    pub fn set_on_received(&self, on_received: OnReceived) {
        *self.on_received.lock().unwrap_or_else(PoisonError::into_inner) = Some(on_received);
        let state = self.lock();
        let is_ready = !state.incoming.frames.is_empty() || state.end.is_some();
        drop(state);
        if is_ready {
            self.call_on_received();
        }
    }

    /// The last measured round-trip time.
    pub fn round_trip(&self) -> Option<Duration> {
        self.lock().round_trip
    }

    /// Sends what waits, and ends.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closing = true;
        state.incoming = Queue::default();
        drop(state);
        self.waker.wake();
    }

    /// The next frame to send. It has left the queue.
    pub fn next_outgoing(&self) -> Option<Vec<u8>> {
        let frame = self.lock().outgoing.pop()?;
        self.space.notify_all();
        Some(frame)
    }

    /// Whether the program has dropped the link.
    pub fn is_closing(&self) -> bool {
        self.lock().is_closing
    }

    /// Whether there is space for received frames. If not, the thread is woken once there is.
    pub fn can_receive(&self) -> bool {
        let mut state = self.lock();
        let can_receive = state.is_closing || state.incoming.bytes < self.limit;
        state.is_paused = !can_receive;
        can_receive
    }

    /// Adds received frames.
    pub fn deliver(&self, frames: Vec<Vec<u8>>) {
        let mut state = self.lock();
        if state.is_closing || frames.is_empty() {
            return;
        }
        frames.into_iter().for_each(|frame| state.incoming.push(frame));
        drop(state);
        self.arrival.notify_all();
        self.call_on_received();
    }

    pub fn set_round_trip(&self, round_trip: Duration) {
        self.lock().round_trip = Some(round_trip);
    }

    /// The link has ended.
    pub fn end(&self, error: LinkError) {
        self.lock().end = Some(error);
        self.space.notify_all();
        self.arrival.notify_all();
        self.call_on_received();
    }

    fn call_on_received(&self) {
        if let Some(on_received) = &*self.on_received.lock().unwrap_or_else(PoisonError::into_inner) {
            on_received();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
