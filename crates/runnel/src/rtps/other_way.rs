//! Pairs whose messages take another way than the network for a while: memory that both processes share.

use runnel_core::time::Instant;
use runnel_rtps::Participant;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};

use super::{Brought, CdrFrame, Rtps, stamp};
use crate::frame::Frame;
use crate::sync::lock;

/// A message that did not get to its reader: its number, when it was written if that counts, and its bytes.
pub(crate) type Left = (u64, Option<Instant>, Frame);

/// A reader of ours is given what a writer's messages are by a channel: how far it is.
pub(crate) struct Progress {
    /// The number of the message that is due; 0 if that is not known yet.
    pub(crate) due: u64,
    /// Somebody waits for signs of life, or for messages by a deadline.
    pub(crate) watched: bool,
    /// It keeps all, so that a writer is to wait for its user.
    pub(crate) keeps_all: bool,
    /// It is owed each message.
    pub(crate) reliable: bool,
}

impl Rtps {
    /// The number of the message that a writer wrote last.
    pub(crate) fn last_number(&self, writer: EntityId) -> Option<u64> {
        lock(&self.participant).last_number(writer).map(number)
    }

    /// What is written from now on reaches a reader by another way: the number of the first. `None` if they have not met.
    pub(crate) fn suspend(&self, writer: EntityId, reader: Guid) -> Option<u64> {
        self.work(|participant, _| participant.suspend(writer, reader)).map(number)
    }

    /// That way has ended: these messages and all that follow go by the network. The reader has had all before `from`.
    pub(crate) fn resume(&self, pair: (EntityId, Guid), from: u64, left: Vec<Left>) {
        self.work(|participant, now| {
            let written =
                |(at, written, frame): Left| (sequence(at), written.unwrap_or(now), CdrFrame(frame));
            let left = left.into_iter().map(written);
            participant.resume(now, stamp(), pair, sequence(from), left);
        });
    }

    /// How far a reader of ours is with a writer.
    pub(crate) fn progress(&self, pair: (EntityId, Guid)) -> Progress {
        progress(&mut lock(&self.participant), pair)
    }

    /// Whether a reader of ours keeps all, so that writers wait for its user.
    pub(crate) fn keeps_all(&self, reader: EntityId) -> bool {
        lock(&self.participant).keeps_all(reader)
    }

    /// A message has come by another way, where that of the number `expected` was to come: those between them will not.
    pub(crate) fn take_in(
        &self,
        pair: (EntityId, Guid),
        (expected, at): (u64, u64),
        message: &[u8],
        brought: &mut Brought,
    ) -> Progress {
        self.work(|participant, now| {
            participant.take_in(now, pair, (sequence(expected), sequence(at)), message);
            brought.take(participant);
            progress(participant, pair)
        })
    }

    /// The user has had all messages of a writer before `next`.
    pub(crate) fn pass_over(&self, pair: (EntityId, Guid), next: u64, brought: &mut Brought) {
        self.work(|participant, now| {
            participant.pass_over(now, pair, sequence(next));
            brought.take(participant);
        });
    }

    /// The user has got a message of a writer by another way, for which somebody waits.
    pub(crate) fn sample_passed(&self, (reader, writer): (EntityId, Guid)) {
        self.work(|participant, now| participant.sample_passed(now, reader, writer));
    }

    /// Tells a participant something that is for it alone, and may be lost.
    pub(crate) fn tell_peer(&self, to: GuidPrefix, bytes: &[u8]) {
        self.work(|participant, _| participant.tell_peer(to, bytes));
    }
}

impl Brought {
    /// Takes what a participant has.
    pub(super) fn take(&mut self, participant: &mut Participant<CdrFrame>) {
        self.samples.extend(std::iter::from_fn(|| participant.poll_sample()));
        self.events.extend(std::iter::from_fn(|| participant.poll_event()));
    }
}

fn progress(participant: &mut Participant<CdrFrame>, (reader, writer): (EntityId, Guid)) -> Progress {
    let due = participant.due(reader, writer).map_or(0, number);
    let (watched, keeps_all) = (participant.is_watched(reader, writer), participant.keeps_all(reader));
    let reliable = participant.is_reliable(reader);
    Progress { due, watched, keeps_all, reliable }
}

fn number(of: SequenceNumber) -> u64 {
    u64::try_from(of.0).unwrap_or_default()
}

fn sequence(number: u64) -> SequenceNumber {
    SequenceNumber(i64::try_from(number).unwrap_or(i64::MAX))
}
