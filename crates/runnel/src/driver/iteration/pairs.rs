//! ROS 2 pairs that may use shared memory: the event loop passes information between the graph, which matches them, and
//! the IPC connections, which carry them.

use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use crate::driver::Driver;
use crate::driver::ipc_connections::OtherEnd;
use crate::driver::pair_delivery::PairDelivery;
use crate::driver::table::Key;
use runnel_core::sorted::SortedMap;

impl Driver {
    /// Handles an unmatched pair. Samples that arrived before count.
    pub(in crate::driver) fn remove_matched_pair(&mut self, local: EntityId, remote: Guid) {
        if let Some(pair) = self.ros2.take_pair(local, remote) {
            self.lose_pair(pair);
        }
    }

    /// Handles a pair that RTPS has lost. Samples that shared memory still delivers wait for the link that serves the
    /// pair next.
    pub(super) fn lose_pair(&mut self, pair: Key) {
        let known = self
            .ipc_connections
            .receiver_of(pair)
            .map(|(ends, _)| ends)
            .zip(self.ipc_connections.info_of(pair));
        if let Some((ends, from)) = known {
            self.drain_ipc_connection_of(pair);
            if self.ipc_connections.memory_input(pair).is_some_and(|memory| memory.has_channel()) {
                // It takes the partly read sample, so no more of the pair may be read after this.
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
        let link_delivers_rest = self.link_delivers_rest(pair);
        self.finish_receiver(pair, link_delivers_rest);
        self.ipc_connections.remove_pair(pair, &mut self.effects);
    }

    /// Ends a pair's receiver after it has delivered what is due. Samples that wait for missing ones go to the user,
    /// too, unless a ROS 1 link delivers all of these.
    pub(in crate::driver) fn finish_receiver(&mut self, pair: Key, link_delivers_rest: bool) {
        if self.ipc_connections.begin_finish(pair, link_delivers_rest) {
            self.deliver_all(pair);
            let received_batch = self.ipc_connections.finish(pair, &mut self.effects);
            self.note_receiver(pair);
            self.dispatch_rtps(received_batch, &[]);
        }
    }

    /// Whether a ROS 1 link delivers what is missing of a pair.
    fn link_delivers_rest(&mut self, pair: Key) -> bool {
        let ends = self.ipc_connections.receiver_of(pair).map(|(ends, _)| ends);
        let dual_node_id = self.ipc_connections.info_of(pair).and_then(|from| from.dual_node_id);
        ends.zip(dual_node_id).is_some_and(|(ends, dual_node_id)| self.has_link_for(dual_node_id, ends))
    }

    /// Ends a pair's use of shared memory after taking its samples there.
    fn take_rest_of_pair(&mut self, pair: Key) {
        if self.ipc_connections.receiver_of(pair).is_some() {
            self.drain_ipc_connection_of(pair);
            self.channel_closed(pair);
        }
    }

    /// Handles new tokens of the pairs with a participant.
    pub(super) fn local_peer_changed(&mut self, participant: GuidPrefix) {
        let (pairs, former) = self.ros2.forget_pairs(participant);
        // RTPS still matches the pairs, and delivers the samples for which they wait.
        let mut deliveries: SortedMap<_, _> =
            former.iter().filter_map(|pair| self.take_delivery(*pair)).collect();
        former.into_iter().for_each(|pair| self.end_pair(pair));
        for (local, remote) in pairs {
            self.join_pair(local, remote, deliveries.remove(&(local, remote)));
        }
    }

    fn take_delivery(&mut self, pair: Key) -> Option<((EntityId, Guid), Box<PairDelivery>)> {
        self.take_rest_of_pair(pair);
        let taken = self.ipc_connections.take_delivery(pair);
        self.note_receiver(pair);
        taken
    }

    /// Adds a matched pair, with its receiver if it had one under its former token.
    pub(super) fn join_pair(&mut self, local: EntityId, remote: Guid, delivery: Option<Box<PairDelivery>>) {
        let Some((end, peer)) = self.ros2.pair_end(local, remote) else { return };
        let pair = self.ipc_connections.add_pair(end);
        self.ros2.set_pair(local, remote, pair);
        // Before shared memory is requested, which a pair with held samples does not do.
        if let Some(delivery) = delivery {
            self.ipc_connections.put_delivery(pair, delivery);
            self.note_receiver(pair);
            self.deliver_pair(pair);
        }
        self.ipc_connections.add_local_link(pair, OtherEnd::Endpoint, peer, &mut self.effects);
    }

    /// Delivers due messages of a pair while its user has capacity.
    pub(super) fn deliver_pair(&mut self, pair: Key) {
        let Self { ipc_connections, ros2, effects, .. } = self;
        while let Some((reader, length)) =
            ipc_connections.deliver_next(pair, |reader| ros2.has_capacity(reader))
        {
            ros2.use_capacity(reader, length, effects);
        }
        if ipc_connections.settle_pair(pair, effects) {
            self.note_receiver(pair);
        }
    }

    /// Delivers all due messages of a pair, regardless of capacity.
    pub(in crate::driver) fn deliver_all(&mut self, pair: Key) {
        let Self { ipc_connections, ros2, effects, .. } = self;
        while let Some((reader, length)) = ipc_connections.deliver_next(pair, |_| true) {
            ros2.use_capacity(reader, length, effects);
        }
    }

    /// Sets whether a pair's receiver or the subscription gets the pair's samples from RTPS.
    pub(super) fn note_receiver(&mut self, pair: Key) {
        if let Some((of, has_receiver)) = self.ipc_connections.receiver_of(pair) {
            self.ros2.set_receiver(of, has_receiver.then_some(pair));
        }
    }
}
