//! Details of the other participants, for diagnostics.

use runnel_io::clock;
use runnel_rtps::Peer;
use runnel_rtps::wire::{EntityId, Timestamp};

use super::Ros2;
use crate::ros2_graph::Gid;
use crate::ros2_graph::participant_details::ParticipantDetails;

impl Ros2 {
    /// Details of the participants that have announced themselves.
    pub(crate) fn participant_details(&self) -> Vec<ParticipantDetails> {
        let now = clock::monotonic();
        let details = |peer: &Peer| {
            let prefix = peer.data.prefix;
            ParticipantDetails {
                gid: Gid(prefix.with(EntityId::PARTICIPANT).to_bytes()),
                vendor_id: peer.data.vendor.0,
                lease: peer.data.lease,
                silent_for: now.since(peer.last_received()),
                id_length: self.graph.id_length(prefix),
                last_reply: self.services.clients.last_reply(prefix).map(Timestamp::to_time),
            }
        };
        let all = |rtps: &crate::rtps::Rtps| {
            rtps.read(|participant| participant.announced().map(details).collect::<Vec<_>>())
        };
        self.rtps.as_ref().map(|rtps| all(rtps)).unwrap_or_default()
    }
}
