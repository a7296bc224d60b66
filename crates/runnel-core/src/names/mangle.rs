//! DDS names of ROS 2 topics and types, in both directions.
//!
//! Source: ROS 2 design, "Topic and Service name mapping to DDS".

use alloc::format;
use alloc::string::{String, ToString};

/// Kind of a DDS topic in ROS 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DdsTopic<'a> {
    /// Messages of the topic of this name: `rt/chatter` is `/chatter`.
    Topic(&'a str),
    /// Requests to the service of this name: `rq/addRequest` is `/add`.
    ServiceRequest(&'a str),
    /// Responses of the service of this name: `rr/addReply` is `/add`.
    ServiceReply(&'a str),
}

impl<'a> DdsTopic<'a> {
    /// Reads the name of a DDS topic; `None` if it is not a ROS 2 name.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (prefix, rest) = name.split_at_checked(2)?;
        if !rest.starts_with('/') || rest.len() < 2 {
            return None;
        }
        Some(match prefix {
            "rt" => Self::Topic(rest),
            "rq" => Self::ServiceRequest(rest.strip_suffix("Request")?),
            "rr" => Self::ServiceReply(rest.strip_suffix("Reply")?),
            _ => return None,
        })
    }

    /// The name of the ROS topic, if it is one.
    pub fn topic(self) -> Option<&'a str> {
        match self {
            Self::Topic(name) => Some(name),
            _ => None,
        }
    }
}

/// The ROS type of a DDS type: `std_msgs::msg::dds_::String_` is `std_msgs/msg/String`, and
/// `example_interfaces::srv::dds_::AddTwoInts_Request_` belongs to `example_interfaces/srv/AddTwoInts`. `None` if it is not a
/// ROS 2 type.
pub fn ros_type(dds_type: &str) -> Option<String> {
    let (package, name) = dds_type.split_once("::dds_::")?;
    let name = name.strip_suffix('_')?;
    let (package, folder) = package.split_once("::")?;
    let part = |suffix| name.strip_suffix(suffix);
    let full_name = match folder {
        "srv" => part("_Request").or_else(|| part("_Response")),
        "action" => ["_SendGoal", "_GetResult"].iter().find_map(|service| {
            let of_service = part("_Request").or_else(|| part("_Response"));
            of_service.filter(|of| of.ends_with(service))
        }),
        _ => None,
    };
    let name = full_name.unwrap_or(name);
    let is_plain = |part: &str| !part.is_empty() && !part.contains(':');
    let plain = [package, folder, name].into_iter().all(is_plain);
    plain.then(|| format!("{package}/{folder}/{name}"))
}

/// The DDS name of a ROS message type in either spelling: `std_msgs/String` and `std_msgs/msg/String` are
/// `std_msgs::msg::dds_::String_`. Other names stay unchanged.
pub fn dds_type(ros_type: &str) -> String {
    let mut parts = ros_type.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(package), Some(name), None, None) => format!("{package}::msg::dds_::{name}_"),
        (Some(package), Some(folder), Some(name), None) => format!("{package}::{folder}::dds_::{name}_"),
        _ => ros_type.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dds_prefix_distinguishes_topics_and_services() {
        assert_eq!(DdsTopic::parse("rt/robot/scan"), Some(DdsTopic::Topic("/robot/scan")));
        assert_eq!(DdsTopic::parse("rq/addRequest"), Some(DdsTopic::ServiceRequest("/add")));
        assert_eq!(DdsTopic::parse("rr/addReply"), Some(DdsTopic::ServiceReply("/add")));
        let foreign =
            ["ros_discovery_info", "rt", "rt/", "rtx/a", "rq/add", "rr/addRequest", "Square", "", "é"];
        for name in foreign {
            assert_eq!(DdsTopic::parse(name), None, "{name}");
        }
    }

    #[test]
    fn type_names_convert_in_both_directions() {
        for (dds, ros) in [
            ("std_msgs::msg::dds_::String_", "std_msgs/msg/String"),
            (
                "tf2_msgs::action::dds_::LookupTransform_FeedbackMessage_",
                "tf2_msgs/action/LookupTransform_FeedbackMessage",
            ),
        ] {
            assert_eq!((ros_type(dds).as_deref(), dds_type(ros).as_str()), (Some(ros), dds));
        }
        assert_eq!(dds_type("std_msgs/String"), "std_msgs::msg::dds_::String_");
        for part in ["Request", "Response"] {
            let dds = format!("example_interfaces::srv::dds_::AddTwoInts_{part}_");
            assert_eq!(ros_type(&dds).as_deref(), Some("example_interfaces/srv/AddTwoInts"));
        }
        for foreign in
            ["ShapeType", "a::b::String_", "a::msg::dds_::String", "::msg::dds_::X_", "a::::dds_::X_", ""]
        {
            assert_eq!(ros_type(foreign), None, "{foreign}");
        }
    }
}
