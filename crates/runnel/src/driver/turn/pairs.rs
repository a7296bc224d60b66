//! Pairs of endpoints of the ROS 2 graph that may leave the network within a host: the graph knows them, the sessions carry them,
//! and the loop tells each what the other has of them.

use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use crate::driver::Driver;
use crate::driver::pair_delivery::PairDelivery;
use crate::driver::sessions::OtherEnd;
use crate::driver::table::Key;
use runnel_core::sorted::SortedMap;

impl Driver {
    /// The two have parted: what came before that counts.
    pub(in crate::driver) fn pair_parted(&mut self, local: EntityId, remote: Guid) {
        if let Some(pair) = self.ros2.take_pair(local, remote) {
            self.lose_pair(pair);
        }
    }

    /// RTPS has lost a pair. What memory still brings of it waits for the link that serves it next.
    pub(super) fn lose_pair(&mut self, pair: Key) {
        let known = self.sessions.receiver_of(pair).map(|(ends, _)| ends).zip(self.sessions.info_of(pair));
        if let Some((ends, from)) = known {
            self.drain_session_of(pair);
            if self.sessions.memory_input(pair).is_some_and(|memory| memory.has_channel()) {
                // It takes the sample of which a part was read, so nothing is read for the pair after that.
                self.orphan_pair(pair, ends, from);
            }
            self.channel_closed(pair);
        }
        self.finish_pair(pair);
    }

    fn end_pair(&mut self, pair: Key) {
        self.take_rest_of_pair(pair);
        self.finish_pair(pair);
    }

    fn finish_pair(&mut self, pair: Key) {
        let comes_back = self.comes_back(pair);
        if self.sessions.begin_finish(pair, comes_back) {
            self.deliver_all(pair);
            let brought = self.sessions.finish(pair, &mut self.effects);
            self.note_receiver(pair);
            self.dispatch_rtps(brought, &[]);
        }
        self.sessions.remove_pair(pair, &mut self.effects);
    }

    /// Whether a link of ROS 1 brings what is missing of a pair.
    fn comes_back(&mut self, pair: Key) -> bool {
        let ends = self.sessions.receiver_of(pair).map(|(ends, _)| ends);
        let origin = self.sessions.info_of(pair).and_then(|from| from.origin);
        ends.zip(origin).is_some_and(|(ends, origin)| self.has_link_for(origin, ends))
    }

    /// A pair leaves its session, and takes with it what that has brought.
    fn take_rest_of_pair(&mut self, pair: Key) {
        if self.sessions.receiver_of(pair).is_some() {
            self.drain_session_of(pair);
            self.channel_closed(pair);
        }
    }

    /// The pairs with a participant are known otherwise from now on.
    pub(super) fn neighbour_changed(&mut self, participant: GuidPrefix) {
        let (pairs, former) = self.ros2.forget_pairs(participant);
        // RTPS still matches the pairs, and brings what they wait for.
        let mut deliveries: SortedMap<_, _> =
            former.iter().filter_map(|pair| self.take_delivery(*pair)).collect();
        former.into_iter().for_each(|pair| self.end_pair(pair));
        for (local, remote) in pairs {
            self.join_pair(local, remote, deliveries.remove(&(local, remote)));
        }
    }

    fn take_delivery(&mut self, pair: Key) -> Option<((EntityId, Guid), Box<PairDelivery>)> {
        self.take_rest_of_pair(pair);
        let taken = self.sessions.take_delivery(pair);
        self.note_receiver(pair);
        taken
    }

    /// A pair is known, with what was held of it when it was known otherwise.
    pub(super) fn join_pair(&mut self, local: EntityId, remote: Guid, delivery: Option<Box<PairDelivery>>) {
        let Some((end, peer)) = self.ros2.pair_end(local, remote) else { return };
        let pair = self.sessions.add_pair(end);
        self.ros2.set_pair(local, remote, pair);
        // Before it is asked for: as long as it holds something it is not.
        if let Some(delivery) = delivery {
            self.sessions.put_delivery(pair, delivery);
            self.note_receiver(pair);
            self.deliver_pair(pair);
        }
        self.sessions.meet(pair, OtherEnd::Endpoint, peer, &mut self.effects);
    }

    /// Gives the user of a pair what is due, as long as there is room for it.
    pub(super) fn deliver_pair(&mut self, pair: Key) {
        let Self { sessions, ros2, effects, .. } = self;
        while let Some((reader, length)) = sessions.deliver_next(pair, |reader| ros2.has_room(reader)) {
            ros2.note_room_taken(reader, length, effects);
        }
        if sessions.settle_pair(pair, effects) {
            self.note_receiver(pair);
        }
    }

    /// Gives the user of a pair what is due, whether there is room or not.
    pub(in crate::driver) fn deliver_all(&mut self, pair: Key) {
        let Self { sessions, ros2, effects, .. } = self;
        while let Some((reader, length)) = sessions.deliver_next(pair, |_| true) {
            ros2.note_room_taken(reader, length, effects);
        }
    }

    /// Whether the samples that RTPS brings of a pair are its receiver's.
    pub(super) fn note_receiver(&mut self, pair: Key) {
        if let Some((of, has_receiver)) = self.sessions.receiver_of(pair) {
            self.ros2.set_receiver(of, has_receiver.then_some(pair));
        }
    }
}
