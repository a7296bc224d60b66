//! ROS 2 graph as a process sees it.

pub(crate) mod participant_details;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;

use runnel_core::names::{self, DdsTopic};
use runnel_core::qos::{Policy, QoS};

/// The ROS 2 graph as this process knows it: what others have announced, and its own entities.
///
/// Names, types and enclaves are as the other processes sent them, and may contain any character. Pass them to
/// [`sanitize`](runnel_core::sanitize) before you show or log them.
#[derive(Clone, Debug, Default)]
pub struct Ros2Graph {
    /// The participants, mostly processes.
    pub participants: Vec<ParticipantInfo>,
    /// The nodes that participants have announced.
    pub nodes: Vec<NodeInfo>,
    /// All endpoints, including those of services and actions and those that are not from ROS.
    pub endpoints: Vec<EndpointInfo>,
}

/// The globally unique id of an endpoint or participant in the ROS 2 graph: 16 bytes, of which an endpoint shares the
/// first 12 with its participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(pub [u8; 16]);

/// A participant of the ROS 2 graph: mostly a process.
#[derive(Clone, Debug)]
pub struct ParticipantInfo {
    /// Its id.
    pub gid: Gid,
    /// Its DDS implementation, such as `Fast DDS`.
    pub vendor: String,
    /// Its announced name; mostly empty or the same for all.
    pub name: String,
    /// Its enclave, mostly `/`; `None` if it announces none.
    pub enclave: Option<String>,
    /// Its discovery addresses; the first is the one in use. Empty for this process.
    pub addresses: Vec<SocketAddr>,
    /// True if it runs on this host.
    pub is_same_host: bool,
    /// True once it has proved that it receives from this process.
    pub answers: bool,
    /// True once all endpoints that it has announced are known, and its nodes if it announces nodes.
    pub is_complete: bool,
    /// True for this process.
    pub is_own: bool,
}

/// A node of the ROS 2 graph.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Its name with its namespace, such as `/robot/camera`.
    pub full_name: String,
    /// The id of the endpoint's participant.
    pub participant: Gid,
}

/// The side of a topic on which an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointType {
    /// It publishes.
    Publisher,
    /// It subscribes.
    Subscription,
}

/// The encoding of messages. Source: DDS-XTypes 1.3, section 7.6.3.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataRepresentation {
    /// XCDR1, the default of ROS 2.
    Xcdr1,
    /// XML text.
    Xml,
    /// XCDR2.
    Xcdr2,
    /// An unknown one, by its number.
    Other(i16),
}

/// A publisher or subscription of the ROS 2 graph.
#[derive(Clone, Debug)]
pub struct EndpointInfo {
    /// Its id.
    pub gid: Gid,
    /// Its side of the topic.
    pub endpoint_type: EndpointType,
    /// The DDS topic, such as `rt/chatter`.
    pub dds_topic: String,
    /// The DDS type, such as `std_msgs::msg::dds_::String_`.
    pub dds_type: String,
    /// The hash of the type's definition, such as `RIHS01_df66..`, if it is announced.
    pub type_hash: Option<String>,
    /// The offered or requested QoS.
    pub qos: QoS,
    /// True if it announces its history and depth; otherwise those in [`EndpointInfo::qos`] are unknown.
    pub has_history: bool,
    /// The encodings that a subscription reads, or that a publisher offers, of which it writes the first. At least
    /// one.
    pub representations: Vec<DataRepresentation>,
    /// The full name of its node, if its participant has announced it.
    pub node: Option<String>,
}

/// Statistics of an endpoint's links, from its own process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointLinks {
    /// Messages published by the endpoint's node on the topic in any graph, or received by the subscription.
    pub messages: u64,
    /// Messages dropped for slow subscriptions, or because the callback was too slow.
    pub dropped: u64,
    /// How often the state of a link was corrected after a forged datagram, or after one from before a peer's restart.
    pub corrections: u64,
    /// For a subscription: the publishers whose messages come in shared memory, at most 13. All others use the
    /// network.
    pub in_memory: Vec<Gid>,
}

impl Ros2Graph {
    /// True if all participants have announced everything that they have.
    pub fn is_complete(&self) -> bool {
        self.participants.iter().all(|participant| participant.is_complete)
    }

    /// The services of the graph, with the types that their servers and clients announce: as
    /// `get_service_names_and_types` of rclpy.
    pub fn service_names_and_types(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut services: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for endpoint in &self.endpoints {
            if let Some(DdsTopic::ServiceRequest(name) | DdsTopic::ServiceReply(name)) = endpoint.ros_topic()
            {
                services.entry(name.to_owned()).or_default().insert(endpoint.ros_type());
            }
        }
        services
    }

    /// The number of servers of a service.
    pub fn count_services(&self, service: &str) -> usize {
        self.count_requests(service, EndpointType::Subscription)
    }

    /// The number of clients of a service.
    pub fn count_clients(&self, service: &str) -> usize {
        self.count_requests(service, EndpointType::Publisher)
    }

    /// The endpoints of one side of the requests to a service.
    fn count_requests(&self, service: &str, side: EndpointType) -> usize {
        let is_it = |endpoint: &&EndpointInfo| {
            endpoint.endpoint_type == side && endpoint.ros_topic() == Some(DdsTopic::ServiceRequest(service))
        };
        self.endpoints.iter().filter(is_it).count()
    }

    /// The participant of an endpoint or node.
    pub fn participant(&self, of: Gid) -> Option<&ParticipantInfo> {
        self.participants.iter().find(|participant| participant.gid == of.participant())
    }
}

impl Gid {
    /// The id of its participant.
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
    /// The endpoint's topic in ROS; `None` if it is not from ROS.
    pub fn ros_topic(&self) -> Option<DdsTopic<'_>> {
        DdsTopic::parse(&self.dds_topic)
    }

    /// The ROS 2 spelling of the endpoint's type, such as `std_msgs/msg/String`; the DDS type if it is not from ROS.
    pub fn ros_type(&self) -> String {
        names::ros_type(&self.dds_type).unwrap_or_else(|| self.dds_type.clone())
    }

    /// The policies because of which this subscription gets no messages from a publisher with the same topic and type.
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
    fn gid_is_printed_as_in_ros2() {
        let gid = Gid([1, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xab, 0, 0, 18, 3]);
        assert_eq!(gid.to_string(), "01.0f.00.00.00.00.00.00.00.00.00.ab.00.00.12.03");
        assert_eq!(gid.participant().to_string(), "01.0f.00.00.00.00.00.00.00.00.00.ab.00.00.01.c1");
    }
}
