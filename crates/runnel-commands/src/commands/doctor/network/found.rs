//! The gathered facts of the ROS 2 network.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use runnel::{DiscoveryRange, EndpointInfo, Gid, ParticipantInfo, Ros2Graph};

/// The network as this process sees it.
#[derive(Clone, Debug, Default)]
pub struct NetworkFound {
    pub domain: u16,
    /// `None` if ROS 2 is not available.
    pub range: Option<DiscoveryRange>,
    /// The ROS 2 variables of this process.
    pub variables: BTreeMap<String, String>,
    /// The named peers that resolve, and those that do not.
    pub peers: Vec<(String, Option<IpAddr>)>,
    /// The interfaces by which multicast is sent.
    pub interfaces: Vec<InterfaceProbe>,
    /// Participants whose announcements arrived by multicast, in any domain.
    pub announced: Vec<AnnouncedParticipant>,
    /// Processes of this host with ROS 2 ports.
    pub processes: Vec<RosProcess>,
    /// The graphs of other domains in which something runs.
    pub other_domains: BTreeMap<u16, Ros2Graph>,
    /// Limit and default of receive buffers of this host, in bytes.
    pub buffers: Option<Buffers>,
}

/// A datagram sent to the discovery group by an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceProbe {
    pub name: String,
    pub address: IpAddr,
    /// Why it could not be sent.
    pub error: Option<String>,
    /// It came back to this host.
    pub returned: bool,
}

/// A participant that announced itself by multicast.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnnouncedParticipant {
    pub domain: u16,
    pub from: IpAddr,
    pub prefix: [u8; 12],
    pub is_same_host: bool,
}

/// A process of this host with ROS 2 ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RosProcess {
    pub pid: i32,
    /// Its command line.
    pub command: String,
    pub domain: u16,
    /// Its unicast ports for discovery.
    pub ports: Vec<u16>,
    /// Its ROS 2 variables.
    pub variables: BTreeMap<String, String>,
    /// It is stopped, by Ctrl-Z or a debugger.
    pub is_stopped: bool,
    /// Datagrams that the kernel dropped since its receive buffers were full.
    pub dropped: u64,
    /// It had these ports all the time that the doctor looked.
    pub is_lasting: bool,
    /// That number has grown while the doctor looked.
    pub is_dropping: bool,
}

/// Sizes of receive buffers, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// `net.core.rmem_max`.
    pub most: u64,
    /// `net.core.rmem_default`.
    pub default: u64,
}

impl RosProcess {
    /// Its command line and its process id.
    pub fn text(&self) -> String {
        format!("'{}' (process {})", self.command, self.pid)
    }

    /// Whether a participant is in this process.
    pub fn has(&self, participant: &ParticipantInfo) -> bool {
        let has_port = |at: &SocketAddr| self.ports.contains(&at.port());
        participant.is_same_host && participant.addresses.iter().any(has_port)
    }
}

impl NetworkFound {
    /// The process ids of participants of this host, as far as `/proc` shows them.
    pub fn pids(&self, graph: &Ros2Graph) -> BTreeMap<Gid, i32> {
        let pid = |one: &ParticipantInfo| {
            let process = self.processes_here().find(|process| process.has(one))?;
            Some((one.gid, process.pid))
        };
        graph.participants.iter().filter_map(pid).collect()
    }

    /// The processes of this domain.
    pub fn processes_here(&self) -> impl Iterator<Item = &RosProcess> {
        self.processes.iter().filter(|process| process.domain == self.domain)
    }
}

/// The names of the nodes of a process, if it was discovered; otherwise its command line.
pub fn name_of(process: &RosProcess, graph: Option<&Ros2Graph>) -> String {
    let nodes = graph.into_iter().flat_map(|graph| {
        let participants = graph.participants.iter().filter(|one| process.has(one));
        let participants: Vec<_> = participants.map(|one| one.gid).collect();
        graph.nodes.iter().filter(move |node| participants.contains(&node.participant))
    });
    let names: Vec<&str> = nodes.map(|node| node.full_name.as_str()).collect();
    match names.as_slice() {
        [] => process.text(),
        names => format!("{} (process {})", crate::output::listed(names, 3), process.pid),
    }
}

/// The ROS topic of an endpoint, if it is one.
pub fn topic_of(end: &EndpointInfo) -> Option<&str> {
    match end.ros_topic() {
        Some(runnel::core::names::DdsTopic::Topic(topic)) => Some(topic),
        _ => None,
    }
}
