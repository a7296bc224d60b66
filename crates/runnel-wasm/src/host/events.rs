//! Events that wait for a guest.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use runnel::core::wire::Bytes;
use runnel::{MessageInfo, Time};
use serde::{Deserialize, Serialize};

/// Length of an event's record in the guest's memory.
pub const RECORD: usize = 64;

/// Freed memory of payloads that is kept, at most.
const MOST_POOLED: usize = 1 << 20;

/// What has happened; as `event-kind` in the interface's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u32)]
pub enum EventKind {
    None,
    Message,
    Timer,
    Request,
    Response,
    GoalRequest,
    CancelRequest,
    Feedback,
    GoalResult,
    Parameter,
    Shutdown,
}

/// An event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    pub kind: EventKind,
    pub handle: u32,
    pub id: u64,
    /// When it was published and received, and by whom, of messages.
    source: i64,
    received: i64,
    sequence: u64,
    publisher: [u64; 2],
    pub status: i32,
    pub payload: Vec<u8>,
}

impl Event {
    pub fn new(kind: EventKind, handle: u32, id: u64) -> Self {
        Self {
            kind,
            handle,
            id,
            source: i64::MIN,
            received: i64::MIN,
            sequence: 0,
            publisher: [0; 2],
            status: 0,
            payload: Vec::new(),
        }
    }

    pub fn status(self, status: i32) -> Self {
        Self { status, ..self }
    }

    pub fn payload(self, payload: Vec<u8>) -> Self {
        Self { payload, ..self }
    }

    /// The event of a message.
    pub fn info(self, info: &MessageInfo) -> Self {
        let half = |gid: &[u8]| gid.try_into().map_or(0, u64::from_be_bytes);
        let publisher = info.publisher_gid().map_or([0; 2], |gid| {
            let (high, low) = gid.0.split_at(8);
            [half(high), half(low)]
        });
        Self {
            source: info.source_timestamp().map_or(i64::MIN, nanoseconds),
            received: nanoseconds(info.received_timestamp()),
            sequence: info.publication_sequence_number().unwrap_or(0),
            publisher,
            ..self
        }
    }

    /// The same as a message of this subscription.
    pub fn into_message_of(self, subscription: u32) -> Self {
        Self { kind: EventKind::Message, handle: subscription, ..self }
    }

    /// Bytes that it takes in the queue.
    pub fn size(&self) -> usize {
        self.payload.len() + RECORD
    }

    /// The record in the guest's memory.
    pub fn record(&self) -> [u8; RECORD] {
        let mut record = [0; RECORD];
        record[0..4].copy_from_slice(&(self.kind as u32).to_le_bytes());
        record[4..8].copy_from_slice(&self.handle.to_le_bytes());
        record[8..16].copy_from_slice(&self.id.to_le_bytes());
        record[16..24].copy_from_slice(&self.source.to_le_bytes());
        record[24..32].copy_from_slice(&self.received.to_le_bytes());
        record[32..40].copy_from_slice(&self.sequence.to_le_bytes());
        record[40..48].copy_from_slice(&self.publisher[0].to_le_bytes());
        record[48..56].copy_from_slice(&self.publisher[1].to_le_bytes());
        record[56..60].copy_from_slice(&self.status.to_le_bytes());
        // Payloads are limited to what a message may have.
        record[60..64].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        record
    }
}

fn nanoseconds(time: Time) -> i64 {
    i64::from(time.sec) * 1_000_000_000 + i64::from(time.nanosec)
}

/// The queue of a guest's events. Callbacks add to it, on the guest's own thread while it waits.
pub struct Events {
    queue: Mutex<Queue>,
    most_bytes: usize,
    has_dropped: AtomicBool,
    next_id: AtomicU64,
    /// The guest itself changes a parameter.
    is_own_change: AtomicBool,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    bytes: usize,
    /// Memory for payloads.
    buffer_pool: Vec<Vec<u8>>,
}

impl Events {
    pub fn new(most_bytes: usize) -> Self {
        Self {
            queue: Mutex::default(),
            most_bytes,
            has_dropped: AtomicBool::new(false),
            next_id: AtomicU64::new(1),
            is_own_change: AtomicBool::new(false),
        }
    }

    /// The number of the next request, call or goal.
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next request, call or goal will have.
    pub fn peek_id(&self) -> u64 {
        self.next_id.load(Ordering::Relaxed)
    }

    /// Continues with the numbers of a checkpoint.
    pub fn restore_id(&self, next: u64) {
        self.next_id.store(next.max(1), Ordering::Relaxed);
    }

    /// The events that wait, the first first.
    pub fn waiting(&self) -> Vec<Event> {
        self.queue().events.iter().cloned().collect()
    }

    /// Makes a change of parameters that the guest asks for. There are no events of it.
    pub fn change_parameters<T>(&self, change: impl FnOnce() -> T) -> T {
        self.is_own_change.store(true, Ordering::Relaxed);
        let changed = change();
        self.is_own_change.store(false, Ordering::Relaxed);
        changed
    }

    /// Adds the event of a parameter, unless the guest itself has changed it.
    pub fn push_parameter(&self, event: Event) {
        if !self.is_own_change.load(Ordering::Relaxed) {
            self.push(event);
        }
    }

    /// Adds an event. False if it is dropped, since the queue has as many bytes as it may have.
    pub fn push(&self, event: Event) -> bool {
        let mut queue = self.queue();
        let bytes = queue.bytes + event.payload.len() + RECORD;
        if bytes > self.most_bytes && !queue.events.is_empty() {
            drop(queue);
            self.report_dropped(event.handle);
            return false;
        }
        queue.bytes = bytes;
        queue.events.push_back(event);
        true
    }

    /// Adds an event without which the guest would wait for ever, also beyond the limit.
    pub fn push_always(&self, event: Event) {
        let mut queue = self.queue();
        queue.bytes += event.payload.len() + RECORD;
        queue.events.push_back(event);
    }

    /// Whether half of the bytes that may wait are taken.
    pub fn is_half_full(&self) -> bool {
        self.queue().bytes > self.most_bytes / 2
    }

    /// Adds a message. Its bytes are copied.
    pub fn push_message(&self, handle: u32, bytes: Bytes<'_>, info: &MessageInfo) {
        let mut payload = self.queue().buffer_pool.pop().unwrap_or_default();
        if bytes.append_to(&mut payload).is_err() {
            self.report_dropped(handle);
            return;
        }
        self.push(Event::new(EventKind::Message, handle, 0).info(info).payload(payload));
    }

    pub fn pop(&self) -> Option<Event> {
        let mut queue = self.queue();
        let event = queue.events.pop_front()?;
        queue.bytes -= event.payload.len() + RECORD;
        Some(event)
    }

    /// Gives an event back that is longer than the guest's buffer.
    pub fn put_back(&self, event: Event) {
        let mut queue = self.queue();
        queue.bytes += event.payload.len() + RECORD;
        queue.events.push_front(event);
    }

    /// Keeps the memory of a payload for the next message.
    pub fn recycle(&self, mut payload: Vec<u8>) {
        if (1..=MOST_POOLED).contains(&payload.capacity()) {
            payload.clear();
            let mut queue = self.queue();
            if queue.buffer_pool.len() < 4 {
                queue.buffer_pool.push(payload);
            }
        }
    }

    /// Drops all events.
    pub fn clear(&self) {
        let mut queue = self.queue();
        (queue.bytes, queue.events) = (0, VecDeque::new());
    }

    /// Drops the events of an entity that is closed.
    pub fn forget(&self, handle: u32) {
        let mut queue = self.queue();
        let Queue { events, bytes, .. } = &mut *queue;
        events.retain(|event| {
            let stays = event.handle != handle;
            if !stays {
                *bytes -= event.payload.len() + RECORD;
            }
            stays
        });
    }

    /// Logs once that events are dropped.
    pub fn report_dropped(&self, handle: u32) {
        if !self.has_dropped.swap(true, Ordering::Relaxed) {
            log::warn!(
                "events of the guest are dropped, first of its handle {handle}: {} bytes wait, which is limits.queue",
                self.most_bytes
            );
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
