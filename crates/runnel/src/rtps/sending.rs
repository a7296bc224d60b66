//! Working on the participant, and sending what comes of it once others can have it again.

use std::sync::atomic::Ordering;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::EntityId;
use runnel_rtps::{Outgoing, Participant};

use super::{CdrFrame, NEVER, Rtps};
use crate::sync::{MutexGuard, lock, try_lock};

/// Takes the next datagram of a participant: of all that it has to send, or of what users write alone.
type Take = fn(&mut Participant<CdrFrame>, Instant, &mut Outgoing<CdrFrame>) -> bool;

/// What was written has to be sent, which is done when this is dropped: with no lock held.
#[must_use]
pub(crate) struct Unsent<'a> {
    rtps: &'a Rtps,
    wakes: bool,
}

impl Drop for Unsent<'_> {
    /// What discovery has to send is left to the driver.
    fn drop(&mut self) {
        self.rtps.send(Participant::take_user_transmit);
        if self.wakes {
            self.rtps.wake_sleeper();
        }
    }
}

impl Rtps {
    /// Works on the participant, and sends what comes of it, unless another thread is sending and does so.
    pub(super) fn work<T>(&self, work: impl FnOnce(&mut Participant<CdrFrame>, Instant) -> T) -> T {
        let (done, wakes) = self.work_and_fill(self.lock_in_turn(), Participant::take_transmit, work);
        self.send(Participant::take_transmit);
        if wakes {
            self.wake_sleeper();
        }
        done
    }

    /// Has a user write with a writer.
    pub(super) fn publish<T>(
        &self,
        writer: EntityId,
        write: impl FnOnce(&mut Participant<CdrFrame>, Instant) -> T,
    ) -> (T, Unsent<'_>) {
        let participant = self.lock_to_publish(writer);
        let (done, wakes) = self.work_and_fill(participant, Participant::take_user_transmit, write);
        (done, Unsent { rtps: self, wakes })
    }

    /// Works on the participant, and puts what there is to be sent into the outbox, as far as there is room. Whether the
    /// sleeper is to be woken.
    fn work_and_fill<T>(
        &self,
        mut participant: MutexGuard<'_, Participant<CdrFrame>>,
        take: Take,
        work: impl FnOnce(&mut Participant<CdrFrame>, Instant) -> T,
    ) -> (T, bool) {
        let participant = &mut *participant;
        let now = clock::monotonic();
        let done = work(participant, now);
        self.outbox.fill(|into| take(participant, now, into));
        let deadline = participant.poll_timeout().map_or(NEVER, |at| at.0);
        self.deadline.store(deadline, Ordering::SeqCst);
        let has_events = participant.has_events();
        self.has_events.store(has_events, Ordering::SeqCst);
        (done, has_events || deadline < self.sleeps_until.load(Ordering::SeqCst))
    }

    /// Sends what is in the outbox, unless another thread is at it. No lock is held during a system call.
    pub(super) fn send(&self, take: Take) {
        let mut next = self.outbox.take_turn();
        while let Some(mut batch) = next {
            self.sockets.send(batch.datagrams());
            let has_more = batch.is_full();
            batch.release();
            if has_more {
                let (_, wakes) = self.work_and_fill(self.lock_in_turn(), take, |_, _| ());
                if wakes {
                    self.wake_sleeper();
                }
            }
            next = self.outbox.go_on(batch);
        }
    }

    /// Waits until all that is in the outbox has been sent.
    pub(super) fn send_all(&self) {
        while !self.outbox.wait_for_batch() {
            self.send(Participant::take_transmit);
        }
    }

    /// The participant, in which nothing waits for room in the outbox that this writer has written: else a writer that keeps
    /// the last would lose it. A thread that finds the participant locked has it before the driver has it again.
    fn lock_to_publish(&self, writer: EntityId) -> MutexGuard<'_, Participant<CdrFrame>> {
        loop {
            let participant = try_lock(&self.participant).unwrap_or_else(|| {
                let _gate = lock(&self.gate);
                lock(&self.participant)
            });
            if !participant.is_in_line(writer) {
                return participant;
            }
            drop(participant);
            self.outbox.wait_for_batch();
            self.send(Participant::take_user_transmit);
        }
    }

    /// The participant, behind a thread that waits to publish: it waits for one piece of work at most.
    fn lock_in_turn(&self) -> MutexGuard<'_, Participant<CdrFrame>> {
        drop(lock(&self.gate));
        lock(&self.participant)
    }
}
