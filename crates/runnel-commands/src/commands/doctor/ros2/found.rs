//! The gathered facts of the ROS 2 graph: plain values, judged without the network.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use runnel::bridge::EndpointMark;
use runnel::diagnostics::ParticipantDetails;
use runnel::{EndpointInfo, Gid, ParticipantInfo, Ros2Graph};

use super::definitions::Definition;
use crate::graphs::place_of_process;
use crate::output::listed;

/// Number of nodes named in a finding.
const NAMED: usize = 4;

/// The ROS 2 graph, if there are participants.
#[derive(Clone, Debug, Default)]
pub struct Ros2Found {
    /// Text with the number of participants and the domain.
    pub participants: String,
    /// Some are not of commands.
    pub has_nodes: bool,
    pub graph: Ros2Graph,
    /// The same a moment later, if some ends were half announced or some participants did not answer.
    pub later: Option<Ros2Graph>,
    pub details: BTreeMap<Gid, ParticipantDetails>,
    /// The endpoints of dual nodes and of bridges.
    pub marks: BTreeMap<Gid, EndpointMark>,
    /// Definitions of types with several hashes, by hash.
    pub definitions: BTreeMap<String, Definition>,
    /// The process ids of participants of this host, as far as they are known.
    pub pids: BTreeMap<Gid, i32>,
    /// The clocks of other hosts.
    pub clocks: Vec<ClockReading>,
    /// The largest messages that were received, by topic and node.
    pub largest: Vec<LargestMessage>,
}

/// The clock of another host, compared with the clock of this host.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockReading {
    pub host: IpAddr,
    /// The node that replied.
    pub node: String,
    /// How far its clock is ahead, in seconds: at least and at most.
    pub ahead: [f64; 2],
}

/// The largest message of a publisher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargestMessage {
    pub topic: String,
    pub node: String,
    pub bytes: usize,
}

impl Ros2Found {
    /// Vendor, address and, if it is known, the process of a participant.
    pub fn place(&self, participant: &ParticipantInfo) -> String {
        place_of_process(participant, self.pids.get(&participant.gid).copied())
    }

    /// The latest snapshot of the graph.
    pub fn latest(&self) -> &Ros2Graph {
        self.later.as_ref().unwrap_or(&self.graph)
    }

    /// The names of the nodes of a participant; its vendor and address if it announces none.
    pub fn nodes_of(&self, participant: &ParticipantInfo) -> String {
        let nodes = self.graph.nodes.iter().filter(|node| node.participant == participant.gid);
        let names: Vec<&str> = nodes.map(|node| node.full_name.as_str()).collect();
        if names.is_empty() { self.place(participant) } else { listed(&names, NAMED) }
    }

    /// The lease of a participant, and the time since it was last received.
    pub fn lease_of(&self, participant: Gid) -> Option<(Duration, Duration)> {
        let details = self.details.get(&participant)?;
        Some((details.lease?, details.silent_for))
    }

    pub fn is_dual(&self, end: &EndpointInfo) -> bool {
        matches!(self.marks.get(&end.gid), Some(EndpointMark::DualNode(_)))
    }
}

/// Names once each, in order.
pub fn names(all: impl IntoIterator<Item = String>) -> String {
    let names: std::collections::BTreeSet<String> = all.into_iter().collect();
    listed(&names.into_iter().collect::<Vec<_>>(), NAMED)
}
