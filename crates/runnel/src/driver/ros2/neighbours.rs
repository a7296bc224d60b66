//! Which participants are of this host, and which pairs with them may leave the network.
//!
//! ```text
//!  each of two participants of Runnel that have met, to the other alone:
//!      my process, a secret for you, whether I know yours, whether I want to hear that you know mine   ─► RTPS ─►
//! ```
//! It is told when the first pair meets, and again until the other says that it knows it, since it may be lost. From then on
//! each pair has a token that both know and nobody else can guess: the secret of the reader's side with the numbers of both
//! endpoints. The reader asks by it to have the pair by the session of the two processes, as for links of ROS 1.

use std::sync::Arc;
use std::time::Duration;

use runnel_core::local_peer::LocalPeerId;
use runnel_core::sorted::{Entry, SortedMap};
use runnel_core::time::Instant;
use runnel_io::{clock, host};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, VendorId};

use super::Ros2;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::pair_end::PairEnd;
use crate::driver::table::Key;

/// The pause until it is told again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// What is told: the encapsulation of its bytes, and its form.
const HEAD: [u8; 5] = [0, 1, 0, 0, 1];

/// Participants of Runnel that pairs have been met with, or that have told of themselves.
#[derive(Default)]
pub(super) struct Neighbours {
    known: SortedMap<GuidPrefix, Neighbour>,
}

/// See the module's documentation.
struct Neighbour {
    /// The secret that it is told.
    ours: u128,
    /// What it has told.
    theirs: Option<Told>,
    /// The pause before it is told again.
    pause: Duration,
    /// The pairs with its endpoints, and what stands for each in the sessions.
    pairs: SortedMap<(EntityId, Guid), Option<Key>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    /// 0 if its links stay on the network.
    process: u128,
    secret: u128,
}

/// How far the two are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    /// Who tells this knows what the other has to tell.
    knows: bool,
    /// He wants to hear whether the other knows.
    asks: bool,
}

/// What answers a question.
const ANSWER: Stage = Stage { knows: true, asks: false };

impl Told {
    fn to_bytes(self, stage: Stage) -> Vec<u8> {
        let mut bytes = HEAD.to_vec();
        bytes.extend_from_slice(&[u8::from(stage.knows), u8::from(stage.asks), 0]);
        bytes.extend_from_slice(&self.process.to_le_bytes());
        bytes.extend_from_slice(&self.secret.to_le_bytes());
        bytes
    }

    /// `None` for what another version tells.
    fn from_bytes(bytes: &[u8]) -> Option<(Self, Stage)> {
        let ([knows, asks, _], rest) = bytes.strip_prefix(&HEAD)?.split_first_chunk()?;
        let (process, rest) = rest.split_first_chunk()?;
        let (secret, _) = rest.split_first_chunk()?;
        let told = Self { process: u128::from_le_bytes(*process), secret: u128::from_le_bytes(*secret) };
        Some((told, Stage { knows: *knows != 0, asks: *asks != 0 }))
    }
}

/// What a pair is known by, given the secret of the reader's side.
fn token(secret: u128, reader: EntityId, writer: EntityId) -> u128 {
    let number = |id: EntityId| u128::from(id.number());
    secret.wrapping_add(number(reader) << 32 | number(writer))
}

impl Neighbours {
    /// What stands for a pair in the sessions.
    pub(super) fn key_of(&self, local: EntityId, remote: Guid) -> Option<Key> {
        self.known.get(&remote.prefix)?.pairs.get(&(local, remote)).copied().flatten()
    }

    fn get_or_add(&mut self, participant: GuidPrefix) -> Option<&mut Neighbour> {
        if let Entry::Vacant(place) = self.known.entry(participant) {
            let random = || host::random().ok().map(u128::from);
            let ours = random()? << 64 | random()?;
            place.insert(Neighbour { ours, theirs: None, pause: FIRST_PAUSE, pairs: SortedMap::new() });
        }
        self.known.get_mut(&participant)
    }
}

impl Ros2 {
    /// An endpoint of ours and one of another process have met.
    pub(in crate::driver) fn pair_met(&mut self, local: EntityId, remote: Guid, effects: &mut Effects) {
        let is_ours = self.readers.contains_key(&local) || self.writers.contains_key(&local);
        let [first, second, ..] = remote.prefix.0;
        if !is_ours || VendorId([first, second]) != VendorId::RUNNEL || !self.has_sessions {
            return;
        }
        let Some(neighbour) = self.neighbours.get_or_add(remote.prefix) else { return };
        neighbour.pairs.insert((local, remote), None);
        let deadline = Deadline::Neighbour(remote.prefix);
        if neighbour.theirs.is_some() {
            effects.push_back(Effect::PairKnown { local, remote });
        } else if effects.deadlines.deadline(&deadline).is_none() {
            neighbour.pause = FIRST_PAUSE;
            effects.schedule(deadline, clock::monotonic());
        }
    }

    /// They have parted; what stands for the pair in the sessions.
    pub(in crate::driver) fn take_pair(&mut self, local: EntityId, remote: Guid) -> Option<Key> {
        self.neighbours.known.get_mut(&remote.prefix)?.pairs.remove(&(local, remote)).flatten()
    }

    /// The endpoints of others that one of ours has met.
    pub(in crate::driver) fn met_by(&self, local: EntityId) -> Vec<Guid> {
        let pairs = self.neighbours.known.values().flat_map(|neighbour| neighbour.pairs.keys());
        pairs.filter(|(id, _)| *id == local).map(|(_, remote)| *remote).collect()
    }

    /// A participant is gone; what stands for its pairs.
    pub(super) fn neighbour_lost(&mut self, participant: GuidPrefix, effects: &mut Effects) -> Vec<Key> {
        effects.cancel(Deadline::Neighbour(participant));
        let gone = self.neighbours.known.remove(&participant);
        gone.into_iter().flat_map(|neighbour| neighbour.pairs.into_values().flatten()).collect()
    }

    /// A participant has told us alone something.
    pub(super) fn neighbour_told(&mut self, participant: GuidPrefix, bytes: &[u8], effects: &mut Effects) {
        let Some((told, stage)) = Told::from_bytes(bytes) else { return };
        if !self.has_sessions {
            // It need not tell again.
            return if stage.asks {
                self.tell(participant, Told { process: 0, secret: 0 }, ANSWER)
            };
        }
        if stage.knows {
            effects.cancel(Deadline::Neighbour(participant));
        }
        let Some(neighbour) = self.neighbours.get_or_add(participant) else { return };
        if stage.asks {
            effects.push_back(Effect::NeighbourAsks { participant });
        }
        if told.process != 0 && neighbour.theirs != Some(told) {
            neighbour.theirs = Some(told);
            effects.push_back(Effect::NeighbourChanged { participant });
        }
    }

    /// Answers a participant that asks who this process is.
    pub(in crate::driver) fn answer_neighbour(&self, participant: GuidPrefix, process: u128) {
        if let Some(neighbour) = self.neighbours.known.get(&participant) {
            self.tell(participant, Told { process, secret: neighbour.ours }, ANSWER);
        }
    }

    /// The pairs with a participant are known by other tokens from now on, or for the first time: the pairs, and what stands for
    /// those that were known.
    pub(in crate::driver) fn forget_pairs(
        &mut self,
        participant: GuidPrefix,
    ) -> (Vec<(EntityId, Guid)>, Vec<Key>) {
        let Some(neighbour) = self.neighbours.known.get_mut(&participant) else { return Default::default() };
        let pairs = neighbour.pairs.keys().copied().collect();
        (pairs, neighbour.pairs.values_mut().filter_map(Option::take).collect())
    }

    /// The end in this process of a pair that is not known in the sessions, and how it finds its other end.
    pub(in crate::driver) fn pair_end(
        &self,
        local: EntityId,
        remote: Guid,
    ) -> Option<(PairEnd, LocalPeerId)> {
        let neighbour = self.neighbours.known.get(&remote.prefix)?;
        let Told { process, secret } = neighbour.theirs?;
        if neighbour.pairs.get(&(local, remote))?.is_some() {
            return None;
        }
        if let Some(end) = self.readers.get(&local) {
            let peer = LocalPeerId { process, token: token(neighbour.ours, local, remote.entity) };
            let (topic, from) = (Arc::clone(&end.input), Arc::clone(end.links.get(&remote)?));
            let rtps = self.rtps.clone()?;
            return Some((PairEnd::Reader { topic, from, rtps, reader: local, writer: remote }, peer));
        }
        let publication = self.writers.get(&local)?.offer.upgrade()?.publication()?;
        let peer = LocalPeerId { process, token: token(secret, remote.entity, local) };
        Some((PairEnd::Writer { publication, writer: local, reader: remote }, peer))
    }

    /// What stands for a pair in the sessions.
    pub(in crate::driver) fn set_pair(&mut self, local: EntityId, remote: Guid, key: Key) {
        if let Some(neighbour) = self.neighbours.known.get_mut(&remote.prefix) {
            neighbour.pairs.insert((local, remote), Some(key));
        }
    }

    /// Tells a participant by what others of this host find this process, and again until it has said that it knows.
    pub(in crate::driver) fn tell_neighbour(
        &mut self,
        participant: GuidPrefix,
        process: u128,
        now: Instant,
        effects: &mut Effects,
    ) {
        let Some(neighbour) = self.neighbours.known.get_mut(&participant).filter(|_| self.rtps.is_some())
        else {
            return;
        };
        if !neighbour.pairs.is_empty() {
            effects.schedule(Deadline::Neighbour(participant), now + neighbour.pause);
        }
        neighbour.pause = (neighbour.pause * 2).min(LONGEST_PAUSE);
        let stage = Stage { knows: neighbour.theirs.is_some(), asks: true };
        let secret = neighbour.ours;
        self.tell(participant, Told { process, secret }, stage);
    }

    fn tell(&self, participant: GuidPrefix, told: Told, stage: Stage) {
        if let Some(rtps) = &self.rtps {
            rtps.send_vendor_message(participant, &told.to_bytes(stage));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood_and_what_another_version_tells_is_passed_over() {
        let told = Told { process: 7 << 100, secret: 11 << 90 };
        for (knows, asks) in [(false, true), (true, true), (true, false)] {
            let stage = Stage { knows, asks };
            let bytes = told.to_bytes(stage);
            assert_eq!((bytes.len() % 4, Told::from_bytes(&bytes)), (0, Some((told, stage))));
            for len in 0..bytes.len() {
                assert_eq!(Told::from_bytes(&bytes[..len]), None, "{len} bytes");
            }
        }
        let mut other = told.to_bytes(ANSWER);
        other[4] = 2;
        assert_eq!(Told::from_bytes(&other), None);
    }

    #[test]
    fn no_two_pairs_of_two_participants_have_one_token() {
        let (one, other) = (EntityId::user_writer(1), EntityId::user_writer(2));
        let (reader, another) = (EntityId::user_reader(1), EntityId::user_reader(2));
        let mut tokens = [
            token(u128::MAX, reader, one),
            token(u128::MAX, reader, other),
            token(u128::MAX, another, one),
            token(u128::MAX, another, other),
        ];
        tokens.sort_unstable();
        assert!(tokens.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
