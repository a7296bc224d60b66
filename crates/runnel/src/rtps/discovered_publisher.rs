//! Publishers in other processes, as discovery describes them.

use runnel_core::qos::QoS;
use runnel_core::wire::Encoding;
use runnel_rtps::announce::{Endpoint, Role, XCDR2};
use runnel_rtps::wire::Guid;

use super::Rtps;
use crate::sync::lock;

/// The longest type hash that is accepted, in bytes.
const MOST_HASH: usize = 128;

/// A discovered publisher in another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiscoveredPublisher {
    pub(crate) writer: Guid,
    /// Such as `rt/chatter`.
    pub(crate) topic: String,
    /// Such as `std_msgs::msg::dds_::String_`.
    pub(crate) dds_type: String,
    /// Such as `RIHS01_...`; empty if it is not announced.
    pub(crate) type_hash: String,
    /// How its messages are serialized.
    pub(crate) encoding: Encoding,
    pub(crate) qos: QoS,
}

impl DiscoveredPublisher {
    fn of(endpoint: &Endpoint) -> Option<Self> {
        (endpoint.role() == Role::Writer).then(|| Self {
            writer: endpoint.guid,
            topic: endpoint.topic.clone(),
            dds_type: endpoint.type_name.clone(),
            type_hash: type_hash(&endpoint.user_data).to_owned(),
            encoding: if endpoint.written_representation() == XCDR2 {
                Encoding::Xcdr2
            } else {
                Encoding::Xcdr1
            },
            qos: endpoint.qos,
        })
    }
}

impl Rtps {
    /// A publisher in another process, if the endpoint is known and is a publisher.
    pub(crate) fn publisher(&self, writer: Guid) -> Option<DiscoveredPublisher> {
        DiscoveredPublisher::of(lock(&self.core).participant.endpoint(writer)?)
    }

    /// The publishers of a topic in other processes.
    pub(crate) fn publishers(&self, dds_topic: &str) -> Vec<DiscoveredPublisher> {
        let core = lock(&self.core);
        let endpoints = core.participant.peers().flat_map(|peer| peer.endpoints());
        endpoints.filter(|endpoint| endpoint.topic == dds_topic).filter_map(DiscoveredPublisher::of).collect()
    }
}

/// The type hash in the user data of an endpoint, such as `typehash=RIHS01_...;`; empty if there is none.
fn type_hash(user_data: &[u8]) -> &str {
    let pairs = std::str::from_utf8(user_data).unwrap_or_default().split(';');
    let hash = pairs.filter_map(|pair| pair.strip_prefix("typehash=")).next().unwrap_or_default();
    if hash.len() <= MOST_HASH { hash } else { "" }
}

/// The ROS 2 spelling of a DDS type name, such as `std_msgs/msg/String`. A name that is not from ROS stays unchanged.
pub(crate) fn ros2_name(dds_type: &str) -> String {
    let parts =
        dds_type.split_once("::dds_::").and_then(|(folder, name)| Some((folder, name.strip_suffix('_')?)));
    match parts {
        Some((folder, name)) => format!("{}/{name}", folder.replace("::", "/")),
        None => dds_type.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_hash_is_found_in_user_data() {
        for (data, hash) in [
            ("typehash=RIHS01_ab;", "RIHS01_ab"),
            ("runnelorigin=1:/a;typehash=RIHS01_cd;x=y;", "RIHS01_cd"),
            ("enclave=/;", ""),
            ("", ""),
        ] {
            assert_eq!(type_hash(data.as_bytes()), hash);
        }
        assert_eq!(type_hash(&[0xff, b't']), "");
        assert_eq!(type_hash(format!("typehash={};", "x".repeat(MOST_HASH + 1)).as_bytes()), "");
    }

    #[test]
    fn dds_types_convert_to_ros2_names() {
        assert_eq!(ros2_name("std_msgs::msg::dds_::String_"), "std_msgs/msg/String");
        assert_eq!(ros2_name("std_srvs::srv::dds_::SetBool_Request_"), "std_srvs/srv/SetBool_Request");
        assert_eq!(ros2_name("Square"), "Square");
        assert_eq!(ros2_name("a\r::msg::dds_::B\0_"), "a\r/msg/B\0");
    }
}
