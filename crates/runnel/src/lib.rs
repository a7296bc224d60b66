//! Runnel: a light runtime for ROS nodes that needs no installed ROS.
//!
//! ```no_run
//! use runnel::msgs::std_msgs;
//!
//! fn main() -> Result<(), runnel::Error> {
//!     let context = runnel::Context::new()?;
//!     let node = context.create_node("listener")?;
//!     let print = |message: &std_msgs::msg::String| println!("{}", message.data);
//!     let _chatter = node.create_subscription("chatter", 10, print)?;
//!     context.spin()
//! }
//! ```
//!
//! [`Context::new`] joins the ROS 1 graph, which needs a master. [`Context::in_graphs`] selects the ROS 2 graph
//! ([`Graphs::Ros2`], no master, discovery by RTPS) or both at once ([`Graphs::Both`]). A topic is then created with a
//! queue depth or with a [`QoS`], and [`Context::ros2_graph`] lists the nodes and topics.
//!
//! ```no_run
//! use runnel::{Context, Graphs, QoS, msgs::std_msgs};
//!
//! # fn main() -> Result<(), runnel::Error> {
//! let context = Context::in_graphs(Graphs::Ros2)?;
//! let node = context.create_node("talker")?;
//! let chatter = node.create_publisher::<std_msgs::msg::String>("chatter", QoS::keep_last(10).transient_local())?;
//! chatter.publish(std_msgs::msg::String { data: "hello".into() })?;
//! # Ok(())
//! # }
//! ```
//!
//! The spinning thread receives messages and runs callbacks. Publishing works from any thread. A program may publish in
//! a loop without spinning: a background thread answers its peers.
//!
//! A *generation* in this documentation is a version of ROS: ROS 1 or ROS 2. Each has its own message definitions and
//! wire formats.
//!
//! Handles (context, node, publisher) are cheap to clone, for example into a callback.
//!
//! Problems such as a peer with another type or a master that does not answer are logged with the `log` crate. In a
//! program without a logger, warnings and errors go to standard error; `RUNNEL_LOG` (`off`, `error`, `warn`, `info`,
//! `debug`, `trace`) sets the level. The program's own log also goes to `/rosout`: see [`logging`].
#![forbid(unsafe_code)]

mod action;
mod callback_group;
mod context;
mod data;
mod driver;
mod error;
mod frame;
mod goal_status;
mod ipc;
#[cfg(feature = "lifecycle")]
mod lifecycle;
mod log_output;
pub mod logging;
mod node;
mod node_log;
mod node_parameters;
mod parameters;
mod qos_events;
mod ready;
mod ros2_graph;
mod rtps;
mod runtime;
mod services;
mod settings;
mod sync;
mod taking;
#[cfg(feature = "tf")]
pub mod tf;
mod time;
mod topics;
mod types;

pub use action::{
    ActionClient, ActionServer, ClientGoalHandle, DynamicActionClient, DynamicActionServer,
    DynamicGoalHandle, DynamicServerGoalHandle, FeedbackStream, GoalHandleBase, GoalOutcome,
    ServerGoalHandle, SimpleActionServer, SimpleGoalHandle,
};
pub use callback_group::CallbackGroup;
#[cfg(feature = "master")]
pub use context::master::MasterOptions;
pub use context::rate::Rate;
pub use context::{Context, ContextOptions};
pub use data::outgoing::Publishable;
pub use driver::ServiceInfo;
pub use error::{ActionError, Error, ParameterError, Ros1Feature, ServiceError, WantedType};
pub use goal_status::{GoalId, GoalStatus};
#[cfg(feature = "lifecycle")]
pub use lifecycle::{
    CallbackResult, CallbackReturn, LifecycleNode, LifecycleNodeInterface, LifecyclePublisher,
    LifecycleState, TransitionError,
};
pub use node::Node;
pub use node::callback_output::CallbackOutput;
pub use node::jump_handler::JumpHandler;
pub use node::node_options::NodeOptions;
pub use node::options::{
    GroupOptions, PublisherOptions, ServerOptions, SubscriptionOptions, TimerOptions, WatchOptions,
};
pub use node::timer::Timer;
pub use node_parameters::parameter_client::ParameterClient;
pub use node_parameters::params::ParamWatch;
pub use node_parameters::qos_overrides::{QosOverridingOptions, QosPolicyKind};
pub use parameters::parameter_value::{FromParameter, ParameterValue};
pub use parameters::{
    DeclaredType, IntoParameterDeclaration, Parameter, ParameterCallbackHandle, ParameterDeclaration,
    RangedType, parameter_type_name,
};
pub use qos_events::{
    DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, MessageLost, QosEvent,
    QosEventKind,
};
pub use ready::GuardCondition;
pub use ros2_graph::{
    DataRepresentation, EndpointInfo, EndpointLinks, EndpointType, Gid, NodeInfo, ParticipantInfo, Ros2Graph,
};
pub use runnel_core as core;
pub use runnel_core::bounds::LengthBeyondLimit;
pub use runnel_core::qos::{Durability, History, Liveliness, Policy, QoS, Reliability};
pub use runnel_core::time::{Duration as RosDuration, Time};
pub use runnel_io::clock::monotonic as steady_time;
pub use runnel_msgs as msgs;
pub use runnel_msgs::include_interfaces;
pub use runnel_ros1::node::{ServiceFailure, TopicError};
pub use runnel_ros1::rpc::{CallError, Uri};
pub use runnel_ros1::xmlrpc::Value as XmlRpcValue;
pub use runtime::executor::Executor;
pub use runtime::polling::PollingPolicy;
pub use runtime::wait_set::{WaitKey, WaitSet};
pub use services::client::Client;
pub use services::dynamic_client::DynamicClient;
pub use services::dynamic_service::DynamicResponder;
pub use services::introspection::ServiceIntrospectionState;
pub use services::pending_response::PendingResponse;
pub use services::responder::{RequestId, Responder};
pub use services::service::ServiceServer;
pub use settings::environment::{Graphs, Range as DiscoveryRange};
pub use settings::receive_budget::ReceiveBudget;
pub use taking::TakenMessage;
pub use time::time_jumps::{ClockChange, JumpThreshold, TimeJump};
pub use topics::borrowed::Borrowed;
pub use topics::loan::Loan;
pub use topics::message_info::MessageInfo;
pub use topics::message_stream::{MessageStream, ReceivedMessage};
pub use topics::publisher::{DynamicPublisher, Publisher, PublisherBase};
pub use topics::subscription::{RawMessage, Subscription};

/// Bridges between the graphs, for Runnel's own programs. Not part of the API.
#[doc(hidden)]
pub mod bridge {
    pub use crate::data::bridge_node::{bridge_node_name, bridge_of_node};
    pub use crate::rtps::{BridgeMark, EndpointMark};
    pub use crate::services::raw_services::{RawServiceClient, RawServiceRequest};
    pub use crate::topics::bridging::PublisherDescription;
}

/// What Runnel's own programs need to show. Not part of the API.
#[doc(hidden)]
pub mod diagnostics {
    pub use crate::log_output::painted;
    pub use crate::ros2_graph::participant_details::ParticipantDetails;
}

/// Entry points of the fuzz targets into private modules.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    /// Runs an input of the stateful fuzzer of IPC connections.
    ///
    /// # Panics
    /// When an invariant does not hold.
    pub fn play_ipc_connection(input: &[u8]) {
        crate::ipc::play::play(input);
    }
}
