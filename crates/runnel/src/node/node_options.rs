//! Options of a node: which services and topics of its own it has, and which arguments it uses.

use std::sync::LazyLock;

use runnel_core::names::Arguments;
use runnel_core::qos::QoS;

use crate::runtime::shared::{NodeSetup, Shared};

/// Options of a node, named as in rclcpp. Begin with the default and change what differs.
///
/// ```no_run
/// # use runnel::{Context, NodeOptions};
/// # fn main() -> Result<(), runnel::Error> {
/// # let context = Context::new()?;
/// let options = NodeOptions::default().enable_rosout(false).start_parameter_services(false);
/// let node = context.create_node_with_options("camera", options)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOptions {
    pub(crate) enable_rosout: bool,
    pub(crate) rosout_qos: QoS,
    pub(crate) start_parameter_services: bool,
    pub(crate) start_parameter_event_publisher: bool,
    pub(crate) allow_undeclared_parameters: bool,
    pub(crate) automatically_declare_parameters_from_overrides: bool,
    /// Applies the last two.
    pub(crate) parameter_setup: Option<NodeSetup>,
    pub(crate) start_type_description_service: bool,
    pub(crate) enable_logger_service: bool,
    pub(crate) use_global_arguments: bool,
    pub(crate) sim_time: bool,
}

impl Default for NodeOptions {
    /// A node with all services and topics of its own except the ROS 2 logger services. It uses the arguments of
    /// the program.
    fn default() -> Self {
        Self {
            enable_rosout: true,
            rosout_qos: QoS::rosout(),
            start_parameter_services: true,
            start_parameter_event_publisher: true,
            allow_undeclared_parameters: false,
            automatically_declare_parameters_from_overrides: false,
            parameter_setup: None,
            start_type_description_service: true,
            enable_logger_service: false,
            use_global_arguments: true,
            sim_time: true,
        }
    }
}

impl NodeOptions {
    /// Whether the node publishes its log on `/rosout` and, in ROS 1, has the services that set logger levels. True by
    /// default. [`ContextOptions::rosout`](crate::ContextOptions::rosout) switches it off for all nodes of a context.
    #[must_use]
    pub fn enable_rosout(mut self, enabled: bool) -> Self {
        self.enable_rosout = enabled;
        self
    }

    /// The QoS of `/rosout` in ROS 2; [`QoS::rosout`] by default.
    #[must_use]
    pub fn rosout_qos(mut self, qos: impl Into<QoS>) -> Self {
        self.rosout_qos = qos.into();
        self
    }

    /// Whether the node has the six services by which other ROS 2 nodes read and set its parameters. True by default.
    #[must_use]
    pub fn start_parameter_services(mut self, started: bool) -> Self {
        self.start_parameter_services = started;
        self
    }

    /// Whether the node publishes changes of its parameters on `/parameter_events`, in each of its graphs if one of them is
    /// ROS 2. True by default.
    #[must_use]
    pub fn start_parameter_event_publisher(mut self, started: bool) -> Self {
        self.start_parameter_event_publisher = started;
        self
    }

    /// Whether the node has the ROS 2 service `~/get_type_description`. True by default.
    #[must_use]
    pub fn start_type_description_service(mut self, started: bool) -> Self {
        self.start_type_description_service = started;
        self
    }

    /// Whether the node has the ROS 2 services `~/get_logger_levels` and `~/set_logger_levels`. False by default.
    #[must_use]
    pub fn enable_logger_service(mut self, enabled: bool) -> Self {
        self.enable_logger_service = enabled;
        self
    }

    /// Whether the node uses the arguments of its context: name, namespace, remappings, parameters and log levels.
    /// True by default.
    #[must_use]
    pub fn use_global_arguments(mut self, used: bool) -> Self {
        self.use_global_arguments = used;
        self
    }

    /// Whether the node follows `/clock` while the parameter `use_sim_time` is true. True by default.
    /// [`ContextOptions::sim_time`](crate::ContextOptions::sim_time) switches it off for all nodes of a context.
    #[must_use]
    pub fn sim_time(mut self, followed: bool) -> Self {
        self.sim_time = followed;
        self
    }

    /// The arguments that the node uses.
    pub(crate) fn arguments<'a>(&self, shared: &'a Shared) -> &'a Arguments {
        static NONE: LazyLock<Arguments> = LazyLock::new(Arguments::default);
        if self.use_global_arguments { &shared.arguments } else { &NONE }
    }
}
