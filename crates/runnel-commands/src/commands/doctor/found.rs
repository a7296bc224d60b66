//! What was found: plain values, gathered over the network and judged without it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use runnel::Time;

use crate::graph::{Connection, Drops, SystemState};

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub here: Here,
    /// Nothing if the master could not be asked.
    pub graph: Option<GraphFound>,
}

/// Where this process stands.
#[derive(Clone, Debug, Default)]
pub struct Here {
    /// The variables of ROS that are set.
    pub variables: Vec<(&'static str, String)>,
    /// A variable or argument that cannot be meant so, with the reason.
    pub malformed: Option<String>,
    /// Whether anything says where the master is.
    pub master_named: bool,
    pub master: Option<MasterFound>,
    /// The graph of ROS 2, if there are participants.
    pub ros2: Option<Ros2Found>,
    /// What this host is told to be called.
    pub stated: Option<StatedHost>,
}

/// The graph of ROS 2.
#[derive(Clone, Debug, Default)]
pub struct Ros2Found {
    /// How many, and in which domain.
    pub participants: String,
    /// How many topics there are.
    pub topics: usize,
    /// Topics, and why a pair of endpoints there does not match.
    pub mismatches: Vec<(String, String)>,
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

/// The master as this process reaches it.
#[derive(Clone, Debug)]
pub struct MasterFound {
    pub uri: String,
    pub address: Option<IpAddr>,
    /// Whether that is an address of this host.
    pub own: bool,
    pub trouble: Option<Trouble>,
}

/// Why a server does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The master does not know where it is.
    NoUri,
    /// What the master knows is no address, and why not.
    BadUri(String),
    /// Its host has no address, and why not.
    Unresolved { host: String, why: String },
    /// Nobody listens on its port.
    Refused,
    /// There is no way there, as the system says.
    Unreachable(String),
    /// Nothing comes back from there.
    Silent,
    /// It takes connections and answers nothing.
    Mute,
    /// It answers what is no answer.
    Nonsense(String),
}

/// The graph of the master.
#[derive(Clone, Debug, Default)]
pub struct GraphFound {
    pub state: SystemState,
    /// The types that the master knows.
    pub types: BTreeMap<String, String>,
    pub nodes: BTreeMap<String, NodeFound>,
    /// What publishers offer on their topics.
    pub offers: Vec<Offer>,
    /// The MD5 sums of the types that are known here.
    pub known_md5: BTreeMap<String, String>,
    pub services: Vec<ServiceFound>,
    pub clock: ClockFound,
    pub stamps: Vec<Stamp>,
}

/// A node that the master knows.
#[derive(Clone, Debug, Default)]
pub struct NodeFound {
    pub uri: Option<String>,
    pub address: Option<IpAddr>,
    /// Whether that is an address of this host.
    pub own: bool,
    pub trouble: Option<Trouble>,
    pub pid: Option<i32>,
    /// The name of whoever answers there, if it says so; roscpp does not.
    pub calls_itself: Option<String>,
    /// Topics and types, as the node itself says.
    pub publications: Option<BTreeMap<String, String>>,
    pub subscriptions: Option<BTreeMap<String, String>>,
    pub connections: Option<Vec<Connection>>,
    pub drops: Vec<Drops>,
    /// The same later, if some had been dropped.
    pub drops_later: Vec<Drops>,
}

/// What a publisher says to whoever would subscribe.
#[derive(Clone, Debug)]
pub struct Offer {
    pub topic: String,
    pub node: String,
    pub said: Result<Offered, Refusal>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    pub type_name: String,
    pub md5: String,
    /// The last message is told to whoever comes later.
    pub latching: bool,
    /// Its messages begin with a header.
    pub stamped: bool,
    /// Where messages come from.
    pub host: String,
    pub port: u16,
}

/// Why a publisher or a server offers nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The node was asked and said no, or nothing.
    Said(String),
    /// Its port does not answer.
    Port { at: String, trouble: Trouble },
}

/// A service that the master knows.
#[derive(Clone, Debug, Default)]
pub struct ServiceFound {
    pub name: String,
    /// The nodes that provide it.
    pub providers: Vec<String>,
    pub uri: Option<String>,
    /// What its server says; nothing if it was not asked, since its node does not answer.
    pub said: Option<Result<Served, Refusal>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The node that answers.
    pub node: Option<String>,
    pub type_name: Option<String>,
}

/// Who tells the time.
#[derive(Clone, Debug, Default)]
pub struct ClockFound {
    /// The parameter `/use_sim_time`, if it is set.
    pub simulated: Option<bool>,
    pub publishers: Vec<String>,
    /// What each of them told within a second.
    pub heard: Vec<Heard>,
}

#[derive(Clone, Debug, Default)]
pub struct Heard {
    pub node: String,
    pub times: Vec<Time>,
}

/// How far the stamp of a message lies from the clock of this host.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub topic: String,
    pub node: String,
    /// Positive if the stamp lies in the future.
    pub seconds: f64,
}

impl Trouble {
    /// As a sentence about the server at `at`.
    pub fn about(&self, at: &str) -> String {
        match self {
            Self::NoUri => "the master does not know where it answers".to_owned(),
            Self::BadUri(why) => why.clone(),
            Self::Unresolved { host, why } => {
                format!("the host name {host} of {at} does not resolve here: {why}")
            }
            Self::Refused => format!("nobody listens at {at}"),
            Self::Unreachable(why) => format!("no way to {at}: {why}"),
            Self::Silent => format!("nothing comes back from {at}"),
            Self::Mute => format!("{at} takes connections and does not answer"),
            Self::Nonsense(why) => format!("{at} answers otherwise than it should: {why}"),
        }
    }
}

impl GraphFound {
    /// The node, if it answers.
    pub fn answering(&self, node: &str) -> Option<&NodeFound> {
        self.nodes.get(node).filter(|node| node.trouble.is_none())
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
