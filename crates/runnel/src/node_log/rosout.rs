//! Publisher of a node's `/rosout`, which has a different type in each graph.

use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_io::Reactor;
use runnel_msgs::std_msgs::msg::Header;
use runnel_msgs::{rcl_interfaces, rosgraph_msgs};

use crate::data::outgoing::{per_generation, typed};
use crate::data::{Publication, WriterGroup};
use crate::ipc::Pool;
use crate::log_output::format::Line;
use crate::log_output::loggers::name_in_ros2;
use crate::settings::environment::Graphs;
use crate::types::announced::{Ros1Type, Ros2Type, Topic};

/// The topic on which nodes publish their log.
pub(crate) const ROSOUT: &str = "/rosout";

/// Queue limit for a slow subscriber, without ROS 2.
const WAITING: usize = 100;

/// See the module's documentation.
pub(crate) struct Rosout {
    pub(crate) publication: Arc<Publication>,
    pub(crate) group: Arc<WriterGroup>,
    pub(crate) topic: Topic,
    graphs: Graphs,
}

impl Rosout {
    /// The topic is latched: the lines before the first subscriber are often all that a node logs. `qos` is for ROS 2.
    pub(crate) fn new(graphs: Graphs, qos: QoS, node: &str, reactor: Arc<Reactor>, pool: Arc<Pool>) -> Self {
        let (topic, qos) = (graphs.topic(), graphs.qos(qos));
        let publication = topic.publication(reactor, pool, node, qos);
        let group = publication.writer_group(qos, &Arc::default());
        Self { publication, group, topic, graphs }
    }

    pub(super) fn publish(&self, line: &Line<'_>, topics: &[String]) {
        let (ros1, ros2) = (|| typed(in_ros1(line, topics)), || typed(in_ros2(line)));
        let (to, group) = (&self.publication, &self.group);
        // A line that is too long to send is dropped.
        match self.graphs {
            Graphs::Ros1 => drop(to.publish(ros1(), group)),
            Graphs::Ros2 => drop(to.publish(ros2(), group)),
            Graphs::Both => drop(to.publish(per_generation(ros1(), ros2()), group)),
        }
    }
}

impl Graphs {
    fn topic(self) -> Topic {
        let name = ROSOUT.to_owned();
        match self {
            Self::Ros1 => Topic::of_ros1(name, Ros1Type::of::<rosgraph_msgs::msg::Log>()),
            Self::Ros2 => Topic::of::<rcl_interfaces::msg::Log>(name),
            Self::Both => Topic {
                name,
                ros1: Some(Ros1Type::of::<rosgraph_msgs::msg::Log>()),
                ros2: Some(Ros2Type::of::<rcl_interfaces::msg::Log>()),
                strict_qos: None,
                udpros: false,
            },
        }
    }

    fn qos(self, in_ros2: QoS) -> QoS {
        match self {
            Self::Ros1 => QoS::keep_last(WAITING).transient_local(),
            Self::Ros2 | Self::Both => in_ros2,
        }
    }
}

fn in_ros1(line: &Line<'_>, topics: &[String]) -> rosgraph_msgs::msg::Log {
    rosgraph_msgs::msg::Log {
        header: Header { stamp: line.simulated.unwrap_or(line.wall), ..Header::default() },
        level: line.level as u8 as _,
        name: line.node.to_owned(),
        msg: line.text.to_owned(),
        file: line.place.file.to_owned(),
        function: line.place.function.to_owned(),
        line: line.place.line,
        topics: topics.to_vec(),
    }
}

fn in_ros2(line: &Line<'_>) -> rcl_interfaces::msg::Log {
    rcl_interfaces::msg::Log {
        stamp: line.simulated.unwrap_or(line.wall),
        level: line.level.ros2_number(),
        name: name_in_ros2(line.node, line.logger),
        msg: line.text.to_owned(),
        file: line.place.file.to_owned(),
        function: line.place.function.to_owned(),
        line: line.place.line,
    }
}
