//! Participants on this host, and the pairs with them that may use shared memory.
//!
//! ```text
//!  each of two matched Runnel participants, to the other only:
//!      process id, a secret for you, whether I have yours, whether I ask for a reply   ─► RTPS ─►
//! ```
//! The announcement is sent when the first pair matches. It may be lost, so it is repeated until the other participant has
//! confirmed it. Then each pair has a token that only both processes know: the secret of the reader's side, with the entity
//! ids of both endpoints. With this token the reader requests the pair on the IPC connection of the two processes, as for
//! ROS 1 links.

use runnel_core::sorted::{Entry, SortedMap};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::local_peer::LocalPeerId;
use runnel_core::time::Instant;
use runnel_io::{clock, host};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, VendorId};

use super::Ros2;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::pair_end::PairEnd;
use crate::driver::table::Key;

/// Pause before an announcement is repeated: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// First bytes of an announcement: the encapsulation header and the format.
const HEADER: [u8; 5] = [0, 1, 0, 0, 1];

/// Runnel participants with matched pairs, or that have announced themselves.
#[derive(Default)]
pub(super) struct LocalPeers {
    known: SortedMap<GuidPrefix, LocalPeer>,
}

/// See the module's documentation.
struct LocalPeer {
    /// This process's secret for the peer.
    own_secret: u128,
    /// The secret was sent to the peer.
    has_sent: bool,
    /// The peer's announcement.
    announced: Option<PeerAnnouncement>,
    /// Pause before the next announcement.
    pause: Duration,
    /// Pairs with its endpoints, and their keys in `IpcConnections`.
    pairs: BTreeMap<(EntityId, Guid), Option<Key>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PeerAnnouncement {
    /// 0 if its links stay on the network.
    process: u128,
    secret: u128,
}

/// State of the exchange, as its sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    /// The sender has the receiver's announcement.
    knows: bool,
    /// The sender asks for a reply.
    asks: bool,
}

/// Reply to a request.
const REPLY: Stage = Stage { knows: true, asks: false };

impl PeerAnnouncement {
    fn to_bytes(self, stage: Stage) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        bytes.extend_from_slice(&[u8::from(stage.knows), u8::from(stage.asks), 0]);
        bytes.extend_from_slice(&self.process.to_le_bytes());
        bytes.extend_from_slice(&self.secret.to_le_bytes());
        bytes
    }

    /// `None` for the announcement of another version.
    fn from_bytes(bytes: &[u8]) -> Option<(Self, Stage)> {
        let ([knows, asks, _], rest) = bytes.strip_prefix(&HEADER)?.split_first_chunk()?;
        let (process, rest) = rest.split_first_chunk()?;
        let (secret, _) = rest.split_first_chunk()?;
        let announcement =
            Self { process: u128::from_le_bytes(*process), secret: u128::from_le_bytes(*secret) };
        Some((announcement, Stage { knows: *knows != 0, asks: *asks != 0 }))
    }
}

/// Token of a pair, from the secret of the reader's side.
fn token(secret: u128, reader: EntityId, writer: EntityId) -> u128 {
    let number = |id: EntityId| u128::from(id.number());
    secret.wrapping_add(number(reader) << 32 | number(writer))
}

impl LocalPeers {
    /// Key of a pair in `IpcConnections`.
    pub(super) fn key_of(&self, local: EntityId, remote: Guid) -> Option<Key> {
        self.known.get(&remote.prefix)?.pairs.get(&(local, remote)).copied().flatten()
    }

    fn get_or_add(&mut self, participant: GuidPrefix) -> Option<&mut LocalPeer> {
        if let Entry::Vacant(place) = self.known.entry(participant) {
            let random = || host::random().ok().map(u128::from);
            let own_secret = random()? << 64 | random()?;
            place.insert(LocalPeer {
                own_secret,
                has_sent: false,
                announced: None,
                pause: FIRST_PAUSE,
                pairs: BTreeMap::new(),
            });
        }
        self.known.get_mut(&participant)
    }
}

impl Ros2 {
    /// Handles a match of a local and a remote endpoint.
    pub(in crate::driver) fn add_matched_pair(
        &mut self,
        local: EntityId,
        remote: Guid,
        effects: &mut Effects,
    ) {
        let is_ours = self.readers.contains_key(&local) || self.writers.contains_key(&local);
        let [first, second, ..] = remote.prefix.0;
        if !is_ours || VendorId([first, second]) != VendorId::RUNNEL || !self.is_ipc_enabled {
            return;
        }
        let Some(local_peer) = self.local_peers.get_or_add(remote.prefix) else { return };
        local_peer.pairs.insert((local, remote), None);
        let deadline = Deadline::LocalPeer(remote.prefix);
        if local_peer.announced.is_some() {
            effects.push_back(Effect::PairMatched { local, remote });
        }
        // Its announcement may be a reply from before both lost each other. Then it does not have the new secret and does not
        // request the pairs again.
        let needs_secret = local_peer.announced.is_none() || !local_peer.has_sent;
        if needs_secret && effects.deadlines.deadline(&deadline).is_none() {
            local_peer.pause = FIRST_PAUSE;
            effects.schedule(deadline, clock::monotonic());
        }
    }

    /// Removes an unmatched pair. Returns its key in `IpcConnections`.
    pub(in crate::driver) fn take_pair(&mut self, local: EntityId, remote: Guid) -> Option<Key> {
        self.local_peers.known.get_mut(&remote.prefix)?.pairs.remove(&(local, remote)).flatten()
    }

    /// Remote endpoints that a local one has matched.
    pub(in crate::driver) fn matched_with(&self, local: EntityId) -> Vec<Guid> {
        let pairs = self.local_peers.known.values().flat_map(|local_peer| local_peer.pairs.keys());
        pairs.filter(|(id, _)| *id == local).map(|(_, remote)| *remote).collect()
    }

    /// Removes a lost participant. Returns the keys of its pairs in `IpcConnections`.
    pub(super) fn remove_local_peer(&mut self, participant: GuidPrefix, effects: &mut Effects) -> Vec<Key> {
        effects.cancel(Deadline::LocalPeer(participant));
        let gone = self.local_peers.known.remove(&participant);
        gone.into_iter().flat_map(|local_peer| local_peer.pairs.into_values().flatten()).collect()
    }

    /// Handles a participant's announcement to this one.
    pub(super) fn on_peer_announcement(
        &mut self,
        participant: GuidPrefix,
        bytes: &[u8],
        effects: &mut Effects,
    ) {
        let Some((announcement, stage)) = PeerAnnouncement::from_bytes(bytes) else { return };
        if !self.is_ipc_enabled {
            // The reply stops the repetition.
            return if stage.asks {
                self.send_announcement(participant, PeerAnnouncement { process: 0, secret: 0 }, REPLY)
            };
        }
        if stage.knows {
            effects.cancel(Deadline::LocalPeer(participant));
        }
        let Some(local_peer) = self.local_peers.get_or_add(participant) else { return };
        if stage.asks {
            effects.push_back(Effect::LocalPeerAsks { participant });
        }
        if announcement.process != 0 && local_peer.announced != Some(announcement) {
            local_peer.announced = Some(announcement);
            effects.push_back(Effect::LocalPeerChanged { participant });
        }
    }

    /// Sends this process's id to a participant that asks for it.
    pub(in crate::driver) fn answer_local_peer(&mut self, participant: GuidPrefix, process: u128) {
        if let Some(local_peer) = self.local_peers.known.get_mut(&participant) {
            local_peer.has_sent = true;
            let secret = local_peer.own_secret;
            self.send_announcement(participant, PeerAnnouncement { process, secret }, REPLY);
        }
    }

    /// Handles new tokens of the pairs with a participant. Returns the pairs, and the keys that some of them had in
    /// `IpcConnections`.
    pub(in crate::driver) fn forget_pairs(
        &mut self,
        participant: GuidPrefix,
    ) -> (Vec<(EntityId, Guid)>, Vec<Key>) {
        let Some(local_peer) = self.local_peers.known.get_mut(&participant) else {
            return Default::default();
        };
        let pairs = local_peer.pairs.keys().copied().collect();
        (pairs, local_peer.pairs.values_mut().filter_map(Option::take).collect())
    }

    /// Local endpoint of a pair that has no key in `IpcConnections`, and the id of its peer.
    pub(in crate::driver) fn pair_end(
        &self,
        local: EntityId,
        remote: Guid,
    ) -> Option<(PairEnd, LocalPeerId)> {
        let local_peer = self.local_peers.known.get(&remote.prefix)?;
        let PeerAnnouncement { process, secret } = local_peer.announced?;
        if local_peer.pairs.get(&(local, remote))?.is_some() {
            return None;
        }
        if let Some(end) = self.readers.get(&local) {
            let peer = LocalPeerId { process, token: token(local_peer.own_secret, local, remote.entity) };
            let (topic, from) = (Arc::clone(&end.input), Arc::clone(end.links.get(&remote)?));
            let rtps = self.rtps.clone()?;
            return Some((PairEnd::Reader { topic, from, rtps, reader: local, writer: remote }, peer));
        }
        let publication = self.writers.get(&local)?.group.upgrade()?.publication()?;
        let peer = LocalPeerId { process, token: token(secret, remote.entity, local) };
        Some((PairEnd::Writer { publication, writer: local, reader: remote }, peer))
    }

    /// Sets the key of a pair in `IpcConnections`.
    pub(in crate::driver) fn set_pair(&mut self, local: EntityId, remote: Guid, key: Key) {
        if let Some(local_peer) = self.local_peers.known.get_mut(&remote.prefix) {
            local_peer.pairs.insert((local, remote), Some(key));
        }
    }

    /// Announces this process to a participant, and again until the participant has confirmed it.
    pub(in crate::driver) fn announce_to_local_peer(
        &mut self,
        participant: GuidPrefix,
        process: u128,
        now: Instant,
        effects: &mut Effects,
    ) {
        let Some(local_peer) = self.local_peers.known.get_mut(&participant).filter(|_| self.rtps.is_some())
        else {
            return;
        };
        if !local_peer.pairs.is_empty() {
            effects.schedule(Deadline::LocalPeer(participant), now + local_peer.pause);
        }
        local_peer.pause = (local_peer.pause * 2).min(LONGEST_PAUSE);
        let stage = Stage { knows: local_peer.announced.is_some(), asks: true };
        local_peer.has_sent = true;
        let secret = local_peer.own_secret;
        self.send_announcement(participant, PeerAnnouncement { process, secret }, stage);
    }

    fn send_announcement(&self, participant: GuidPrefix, announcement: PeerAnnouncement, stage: Stage) {
        if let Some(rtps) = &self.rtps {
            rtps.send_vendor_message(participant, &announcement.to_bytes(stage));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::super::WriterEnd;
    use super::*;
    use crate::driver::nodes::NodeKey;

    #[test]
    fn announcement_round_trips_and_other_versions_are_ignored() {
        let announcement = PeerAnnouncement { process: 7 << 100, secret: 11 << 90 };
        for (knows, asks) in [(false, true), (true, true), (true, false)] {
            let stage = Stage { knows, asks };
            let bytes = announcement.to_bytes(stage);
            assert_eq!(
                (bytes.len() % 4, PeerAnnouncement::from_bytes(&bytes)),
                (0, Some((announcement, stage)))
            );
            for len in 0..bytes.len() {
                assert_eq!(PeerAnnouncement::from_bytes(&bytes[..len]), None, "{len} bytes");
            }
        }
        let mut other = announcement.to_bytes(REPLY);
        other[4] = 2;
        assert_eq!(PeerAnnouncement::from_bytes(&other), None);
    }

    /// The reply was unread while this process lost the participant.
    #[test]
    fn participant_is_sent_new_secret_after_outdated_answer() {
        let mut ros2 = Ros2::new(None, true);
        let (writer, prefix) =
            (EntityId::user_writer(1), GuidPrefix([1, 0x72, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]));
        let node = NodeKey(Key::from_bits(1));
        ros2.writers.insert(writer, WriterEnd { node, topic: "/topic".to_owned(), group: Weak::new() });
        let mut effects = Effects::default();
        let announcement = PeerAnnouncement { process: 7, secret: 11 };
        ros2.on_peer_announcement(prefix, &announcement.to_bytes(REPLY), &mut effects);
        ros2.add_matched_pair(writer, prefix.with(EntityId::user_reader(1)), &mut effects);
        assert!(effects.deadlines.deadline(&Deadline::LocalPeer(prefix)).is_some());
    }

    #[test]
    fn tokens_of_pairs_differ() {
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
