//! Pairs of endpoints of the ROS 2 graph that may leave the network within a host: the graph knows them, the sessions carry them.

use std::collections::HashMap;
use std::sync::Arc;

use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use super::Driver;
use super::sessions::{Entry, OtherEnd, PairDelivery};
use super::table::Key;

impl Driver {
    /// The two have parted: what came before that counts.
    pub(super) fn pair_parted(&mut self, local: EntityId, remote: Guid) {
        if let Some(key) = self.ros2.take_pair(local, remote) {
            self.end_pair(key);
        }
    }

    pub(super) fn end_pair(&mut self, key: Key) {
        if let Some(Entry::SampleInput(input)) = self.sessions.entries.get(key) {
            let (pair, from) = ((input.reader, input.writer), Arc::clone(&input.from));
            self.receive_to_the_end(key);
            self.finish_delivery(key);
            self.orphan_pair(key, pair, from);
        }
        self.sessions.remove_pair(key, &mut self.effects);
    }

    /// The pairs with a participant are known otherwise from now on.
    pub(super) fn neighbour_changed(&mut self, participant: GuidPrefix) {
        let (pairs, former) = self.ros2.forget_pairs(participant);
        // RTPS still matches the pairs, and brings what they wait for.
        let mut deliveries: HashMap<_, _> =
            former.iter().filter_map(|key| self.take_delivery(*key)).collect();
        former.into_iter().for_each(|key| self.end_pair(key));
        for (local, remote) in pairs {
            self.join_pair(local, remote, deliveries.remove(&(local, remote)));
        }
    }

    /// A pair is known, with what was held of it when it was known otherwise.
    pub(super) fn join_pair(&mut self, local: EntityId, remote: Guid, delivery: Option<Box<PairDelivery>>) {
        let Some((entry, peer)) = self.ros2.entry_of_pair(local, remote) else { return };
        let key = self.sessions.entries.insert_with(|_| entry);
        self.ros2.set_pair(local, remote, key);
        // Before it is asked for: as long as it holds something it is not.
        delivery.into_iter().for_each(|delivery| self.put_delivery(key, delivery));
        self.sessions.meet(key, OtherEnd::Endpoint, peer, &mut self.effects);
    }
}
