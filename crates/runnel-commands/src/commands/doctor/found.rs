//! The gathered facts: plain values, collected over the network and judged without it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use runnel::Time;

use super::network::found::NetworkFound;
use super::ros2::found::Ros2Found;
use crate::graph::{Connection, Drops, SystemState};

/// All gathered facts.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub here: Here,
    /// `None` if the master did not answer.
    pub graph: Option<GraphFound>,
    /// The ROS 2 graph, if there are participants.
    pub ros2: Option<Ros2Found>,
    /// The ROS 2 network.
    pub network: NetworkFound,
}

/// The environment of this process.
#[derive(Clone, Debug, Default)]
pub struct Here {
    /// The ROS variables that are set.
    pub variables: Vec<(&'static str, String)>,
    /// An invalid variable or argument, with the reason.
    pub malformed: Option<String>,
    /// Whether a variable or an argument names the master.
    pub master_named: bool,
    pub master: Option<MasterFound>,
    /// Whether there are ROS 2 participants besides commands.
    pub has_ros2: bool,
    /// The ROS 2 domain, if there are none.
    pub empty_domain: Option<u16>,
    /// Whether there are participants of commands only.
    pub has_only_commands: bool,
    /// This host's name or address according to a variable or argument.
    pub stated: Option<StatedHost>,
}

/// A name or an address that a variable or an argument gives to this host.
#[derive(Clone, Debug)]
pub struct StatedHost {
    /// Such as `ROS_IP`.
    pub variable: &'static str,
    pub host: String,
    /// Its address, or why it has none.
    pub address: Result<IpAddr, String>,
    /// Whether it is an address of this host.
    pub own: bool,
}

/// The master, as this process reaches it.
#[derive(Clone, Debug)]
pub struct MasterFound {
    pub uri: String,
    pub address: Option<IpAddr>,
    /// Whether that is an address of this host.
    pub own: bool,
    pub fault: Option<ServerFault>,
}

/// Why a server does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// The master has no address of it.
    NoUri,
    /// The address at the master is invalid, with the reason.
    BadUri(String),
    /// Its host name does not resolve, with the reason.
    Unresolved { host: String, why: String },
    /// No process listens on its port.
    Refused,
    /// The operating system finds no route.
    Unreachable(String),
    /// No packet comes back.
    Silent,
    /// It accepts connections and does not answer.
    Mute,
    /// Its answer is invalid.
    Nonsense(String),
}

/// The graph of the master.
#[derive(Clone, Debug, Default)]
pub struct GraphFound {
    pub state: SystemState,
    /// The types according to the master.
    pub types: BTreeMap<String, String>,
    pub nodes: BTreeMap<String, NodeFound>,
    /// What publishers offer on their topics.
    pub offers: Vec<Offer>,
    /// The MD5 sums of types that are known here.
    pub known_md5: BTreeMap<String, String>,
    pub services: Vec<ServiceFound>,
    pub clock: ClockFound,
    pub stamps: Vec<Stamp>,
}

/// A node that the master lists.
#[derive(Clone, Debug, Default)]
pub struct NodeFound {
    pub uri: Option<String>,
    pub address: Option<IpAddr>,
    /// Whether that is an address of this host.
    pub own: bool,
    pub fault: Option<ServerFault>,
    pub pid: Option<i32>,
    /// The name that the node reports, if it does; roscpp does not.
    pub reported_name: Option<String>,
    /// Topics and types, as the node itself reports them.
    pub publications: Option<BTreeMap<String, String>>,
    pub subscriptions: Option<BTreeMap<String, String>>,
    pub connections: Option<Vec<Connection>>,
    pub drops: Vec<Drops>,
    /// The same counts a moment later, if there were any.
    pub drops_later: Vec<Drops>,
}

/// A publisher's answer to a subscriber.
#[derive(Clone, Debug)]
pub struct Offer {
    pub topic: String,
    pub node: String,
    pub answer: Result<Offered, Refusal>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    pub type_name: String,
    pub md5: String,
    /// The last message is sent to late subscribers.
    pub latching: bool,
    /// Messages begin with a header.
    pub stamped: bool,
    /// The address that messages come from.
    pub host: String,
    pub port: u16,
}

/// Why a publisher or a service server refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The node refused with this text, or gave no answer.
    Refused(String),
    /// Its port does not answer.
    Port { at: String, fault: ServerFault },
}

/// A service that the master lists.
#[derive(Clone, Debug, Default)]
pub struct ServiceFound {
    pub name: String,
    /// The nodes that provide it.
    pub providers: Vec<String>,
    pub uri: Option<String>,
    /// The server's answer; `None` if it was not asked, since its node does not answer.
    pub answer: Option<Result<Served, Refusal>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The node that answers.
    pub node: Option<String>,
    pub type_name: Option<String>,
}

/// Publishers of the time.
#[derive(Clone, Debug, Default)]
pub struct ClockFound {
    /// The parameter `/use_sim_time`, if it is set.
    pub simulated: Option<bool>,
    pub publishers: Vec<String>,
    /// The times that each of them published within a second.
    pub sources: Vec<TimeSource>,
}

#[derive(Clone, Debug, Default)]
pub struct TimeSource {
    pub node: String,
    pub times: Vec<Time>,
}

/// Difference between the stamp of a message and the clock of this host.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub topic: String,
    pub node: String,
    /// Positive if the stamp lies in the future.
    pub seconds: f64,
}

impl ServerFault {
    /// A sentence about the server at `at`.
    pub fn about(&self, at: &str) -> String {
        match self {
            Self::NoUri => "the master has no address of it".to_owned(),
            Self::BadUri(why) => why.clone(),
            Self::Unresolved { host, why } => {
                format!("the host name {host} of {at} does not resolve here: {why}")
            }
            Self::Refused => format!("no process listens at {at}"),
            Self::Unreachable(why) => format!("no route to {at}: {why}"),
            Self::Silent => format!("no reply from {at}"),
            Self::Mute => format!("{at} accepts connections and does not answer"),
            Self::Nonsense(why) => format!("{at} gives an invalid answer: {why}"),
        }
    }
}

impl GraphFound {
    /// The node, if it answers.
    pub fn answering(&self, node: &str) -> Option<&NodeFound> {
        self.nodes.get(node).filter(|node| node.fault.is_none())
    }

    /// The nodes that publish a topic.
    pub fn publishers(&self, topic: &str) -> &[String] {
        self.state.publishers.get(topic).map(Vec::as_slice).unwrap_or_default()
    }

    /// The nodes that subscribe to a topic.
    pub fn subscribers(&self, topic: &str) -> &[String] {
        self.state.subscribers.get(topic).map(Vec::as_slice).unwrap_or_default()
    }
}
