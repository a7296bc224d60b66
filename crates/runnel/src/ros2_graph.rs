//! What a process can see of the ROS 2 graph.

use std::fmt;
use std::net::SocketAddr;

use runnel_core::names::{self, DdsTopic};
use runnel_core::qos::{Policy, QoS};

/// The ROS 2 graph as this process knows it: what others have announced, and what is its own.
///
/// Names, types and enclaves are as the other processes sent them, and may hold any character. Pass them to
/// [`sanitize`](runnel_core::sanitize) before a terminal or a log gets them.
#[derive(Clone, Debug, Default)]
pub struct Ros2Graph {
    /// The processes, or what else takes part.
    pub participants: Vec<ParticipantInfo>,
    /// The nodes that participants have told of.
    pub nodes: Vec<NodeInfo>,
    /// What publishes and subscribes, in DDS's words: services, actions and what is not of ROS too.
    pub endpoints: Vec<EndpointInfo>,
}

/// The number of an endpoint or participant in the ROS 2 graph, which no other has; 16 bytes, of which an endpoint has the
/// first 12 in common with its participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(pub [u8; 16]);

/// A participant of the ROS 2 graph: mostly a process.
#[derive(Clone, Debug)]
pub struct ParticipantInfo {
    /// Its number.
    pub gid: Gid,
    /// Whose implementation it is, such as `Fast DDS`.
    pub vendor: String,
    /// What it calls itself; mostly empty or the same for all.
    pub name: String,
    /// Its enclave, `/` for most; `None` if it does not say.
    pub enclave: Option<String>,
    /// Where it is reached for discovery; the first is the one in use. Empty for this process.
    pub addresses: Vec<SocketAddr>,
    /// True if it runs on this host.
    pub is_same_host: bool,
    /// True once it has shown that it hears this process.
    pub answers: bool,
    /// True once all endpoints that it has announced are known, and its nodes if it tells of them.
    pub is_complete: bool,
    /// True of this process.
    pub is_own: bool,
}

/// A node of the ROS 2 graph.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Its name with its namespace, such as `/robot/camera`.
    pub full_name: String,
    /// Its process.
    pub participant: Gid,
}

/// Which side of a topic an endpoint is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointType {
    /// It publishes.
    Publisher,
    /// It subscribes.
    Subscription,
}

/// How messages are encoded. Source: DDS-XTypes 1.3, section 7.6.3.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataRepresentation {
    /// As ROS 2 encodes them.
    Xcdr1,
    /// As text.
    Xml,
    /// The newer form of XCDR.
    Xcdr2,
    /// One that DDS does not know, by its number.
    Other(i16),
}

/// A publisher or subscription of the ROS 2 graph.
#[derive(Clone, Debug)]
pub struct EndpointInfo {
    /// Its number.
    pub gid: Gid,
    /// Which side it is on.
    pub endpoint_type: EndpointType,
    /// The topic as DDS knows it, such as `rt/chatter`.
    pub dds_topic: String,
    /// The type as DDS knows it, such as `std_msgs::msg::dds_::String_`.
    pub dds_type: String,
    /// The hash of the type's definition, such as `RIHS01_df66..`, if it tells one.
    pub type_hash: Option<String>,
    /// What it offers, or asks for.
    pub qos: QoS,
    /// True if it tells its history and depth; otherwise what [`EndpointInfo::qos`] has for these is not known.
    pub has_history: bool,
    /// The encodings that a subscription reads, or that a publisher offers, of which it writes the first. At least one.
    pub representations: Vec<DataRepresentation>,
    /// The full name of its node, if its participant has told of that.
    pub node: Option<String>,
}

/// What the links of an endpoint have carried, as its own process knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointLinks {
    /// Messages that were published, in any graph, by what its node publishes the topic with; or that the subscription got.
    pub messages: u64,
    /// Messages that were dropped for slow subscriptions, or because the callback was slower than they came.
    pub dropped: u64,
    /// How often the state of a link was corrected that a forged datagram had led to, or one from before a peer's restart.
    pub corrections: u64,
    /// Of a subscription, the publishers whose messages come in shared memory: at most 13. All others come by the network.
    pub in_memory: Vec<Gid>,
}

impl Ros2Graph {
    /// True if all participants have told of all that they have.
    pub fn is_complete(&self) -> bool {
        self.participants.iter().all(|participant| participant.is_complete)
    }

    /// The participant that an endpoint or node is of.
    pub fn participant(&self, of: Gid) -> Option<&ParticipantInfo> {
        self.participants.iter().find(|participant| participant.gid == of.participant())
    }
}

impl Gid {
    /// The number of its participant.
    #[must_use]
    pub fn participant(self) -> Self {
        let mut bytes = self.0;
        bytes[12..].copy_from_slice(&[0, 0, 1, 0xc1]);
        Self(bytes)
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(index, byte)| {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{byte:02x}")
        })
    }
}

impl EndpointInfo {
    /// What its topic is in ROS; `None` if it is not of ROS.
    pub fn ros_topic(&self) -> Option<DdsTopic<'_>> {
        DdsTopic::parse(&self.dds_topic)
    }

    /// Its type as ROS 2 spells it, such as `std_msgs/msg/String`; as DDS does if it is not of ROS.
    pub fn ros_type(&self) -> String {
        names::ros_type(&self.dds_type).unwrap_or_else(|| self.dds_type.clone())
    }

    /// By which policies a subscription gets nothing of a publisher, whose topic and type it has.
    pub fn incompatible_with(&self, publisher: &EndpointInfo) -> Vec<Policy> {
        let mut policies = self.qos.incompatible_with(&publisher.qos);
        if !publisher.representations.first().is_some_and(|written| self.representations.contains(written)) {
            policies.push(Policy::DataRepresentation);
        }
        policies
    }
}

impl From<i16> for DataRepresentation {
    fn from(number: i16) -> Self {
        match number {
            0 => Self::Xcdr1,
            1 => Self::Xml,
            2 => Self::Xcdr2,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for DataRepresentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xcdr1 => f.write_str("XCDR1"),
            Self::Xml => f.write_str("XML"),
            Self::Xcdr2 => f.write_str("XCDR2"),
            Self::Other(number) => write!(f, "unknown {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gid_reads_as_ros2_prints_it_and_names_its_participant() {
        let gid = Gid([1, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xab, 0, 0, 18, 3]);
        assert_eq!(gid.to_string(), "01.0f.00.00.00.00.00.00.00.00.00.ab.00.00.12.03");
        assert_eq!(gid.participant().to_string(), "01.0f.00.00.00.00.00.00.00.00.00.ab.00.00.01.c1");
    }
}
