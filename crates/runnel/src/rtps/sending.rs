//! Work on the participant or a writer, and sending of the resulting datagrams after it is unlocked.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::Guid;
use runnel_rtps::{Lend, Participant};

use super::outbox::Outbox;
use super::writer::{State, Writer};
use super::{Core, NEVER, Rtps};
use crate::sync::lock;

/// Sends the datagrams of a written message when dropped. The caller holds no lock then.
#[must_use]
pub(crate) struct Unsent<'a> {
    pub(super) rtps: &'a Rtps,
    pub(super) writer: &'a Writer,
    pub(super) wakes: bool,
    /// A reader whose unacknowledged messages were evicted for it, to be reported.
    pub(super) evicted: Option<Guid>,
}

impl Unsent<'_> {
    /// A reader whose unacknowledged messages were evicted for this one, to be reported: once for each participant.
    pub(crate) fn evicted(&self) -> Option<Guid> {
        self.evicted
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        self.rtps.send_of(self.writer);
        if self.wakes {
            self.rtps.wake_sleeper();
        }
    }
}

/// The writers that the participant has updated. A single one needs no allocation.
#[derive(Default)]
struct Updated {
    first: Option<Arc<Writer>>,
    more: Vec<Arc<Writer>>,
}

impl Updated {
    fn add(&mut self, writer: &Arc<Writer>) {
        let latest = self.more.last().or(self.first.as_ref());
        if latest.is_some_and(|latest| Arc::ptr_eq(latest, writer)) {
            return;
        }
        match self.first {
            None => self.first = Some(Arc::clone(writer)),
            Some(_) => self.more.push(Arc::clone(writer)),
        }
    }
}

impl Rtps {
    /// Works on the participant, and sends the resulting datagrams, unless another thread is sending.
    pub(super) fn work<T>(&self, work: impl FnOnce(&mut Participant, Instant) -> T) -> T {
        self.work_on_core(|core, now| work(&mut core.participant, now))
    }

    /// Like [`work`](Self::work), with access to the list of writers.
    pub(super) fn work_on_core<T>(&self, work: impl FnOnce(&mut Core, Instant) -> T) -> T {
        let (mut updated, mut wakes) = (Updated::default(), false);
        let done = {
            let core = &mut *lock(&self.core);
            let now = clock::monotonic();
            let done = work(core, now);
            while let Some(update) = core.participant.poll_writer_update() {
                let Some(writer) = core.writers.get(&update.writer()) else { continue };
                let state = &mut *lock(&writer.state);
                state.update(&mut core.participant, now, update);
                wakes |= self.settle(writer, state, now);
                updated.add(writer);
            }
            wakes |= self.settle_core(core, now);
            done
        };
        self.send();
        updated.first.iter().chain(&updated.more).for_each(|writer| self.send_of(writer));
        if wakes {
            self.wake_sleeper();
        }
        done
    }

    /// Works on a writer, and sends the resulting datagrams, unless another thread is sending.
    pub(super) fn work_on<T>(&self, writer: &Writer, work: impl FnOnce(&mut State, Instant) -> T) -> T {
        let (done, wakes) = {
            let state = &mut *lock(&writer.state);
            let now = clock::monotonic();
            let done = work(state, now);
            (done, self.settle(writer, state, now))
        };
        self.send_of(writer);
        if wakes {
            self.wake_sleeper();
        }
        done
    }

    /// Fills the participant's outbox. Returns whether to wake the driver.
    fn settle_core(&self, core: &mut Core, now: Instant) -> bool {
        let participant = &mut core.participant;
        self.outbox.fill(|into| participant.take_transmit(now, into));
        let deadline = participant.poll_timeout().map_or(NEVER, |at| at.0);
        self.deadline.store(deadline, Ordering::SeqCst);
        let has_events = participant.has_events();
        self.has_events.store(has_events, Ordering::SeqCst);
        has_events || self.is_before_sleep_ends(deadline)
    }

    /// Fills a writer's outbox. Returns whether to wake the driver.
    pub(super) fn settle(&self, writer: &Writer, state: &mut State, now: Instant) -> bool {
        let State { writer: of, armed, .. } = state;
        writer.outbox.fill(|into| of.take_transmit(now, into));
        let is_earlier = |at: &Instant| armed.is_none_or(|armed| *at < armed);
        let Some(at) = of.poll_timeout().filter(is_earlier) else { return false };
        *armed = Some(at);
        self.timers.schedule(writer.id(), at);
        self.is_before_sleep_ends(at.0)
    }

    fn is_before_sleep_ends(&self, deadline: u64) -> bool {
        deadline < self.sleeps_until.load(Ordering::SeqCst)
    }

    /// Sends the content of the participant's outbox, unless another thread does.
    fn send(&self) {
        self.drain(&self.outbox, || {
            let core = &mut *lock(&self.core);
            self.settle_core(core, clock::monotonic())
        });
    }

    /// Sends the content of a writer's outbox, unless another thread does.
    pub(super) fn send_of(&self, writer: &Writer) {
        self.drain(&writer.outbox, || {
            let state = &mut *lock(&writer.state);
            self.settle(writer, state, clock::monotonic())
        });
    }

    /// Sends the content of an outbox, and calls `refill` when it was full. No lock is held during a system call.
    fn drain<P: Lend>(&self, outbox: &Outbox<P>, refill: impl Fn() -> bool) {
        let mut next = outbox.begin_sending();
        while let Some(mut batch) = next {
            self.sockets.send(batch.datagrams());
            let has_more = batch.is_full();
            batch.release();
            if has_more && refill() {
                self.wake_sleeper();
            }
            next = outbox.next_batch(batch);
        }
    }

    /// Waits until the content of the participant's outbox has been sent.
    pub(super) fn send_all(&self) {
        while !self.outbox.wait_until_sent() {
            self.send();
        }
    }

    /// Waits until the content of a writer's outbox has been sent.
    pub(super) fn send_all_of(&self, writer: &Writer) {
        while !writer.outbox.wait_until_sent() {
            self.send_of(writer);
        }
    }
}
