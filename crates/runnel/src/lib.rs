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
//! [`Context::new`] joins the ROS 1 graph, which needs a master. [`ContextOptions::graphs`] selects the ROS 2 graph
//! ([`Graphs::Ros2`], no master, discovery by RTPS) or both at once ([`Graphs::Both`]). A topic is then created with a
//! queue depth or with a [`QoS`], and [`Context::ros2_graph`] lists the nodes and topics.
//!
//! ```no_run
//! use runnel::{Context, ContextOptions, Graphs, QoS, msgs::std_msgs};
//!
//! # fn main() -> Result<(), runnel::Error> {
//! let context = Context::with_options(ContextOptions::default().graphs(Graphs::Ros2))?;
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
mod announced;
mod borrowed;
mod bridge_node;
mod bridging;
mod callback_group;
mod caller;
mod calls;
mod client;
mod context;
mod data;
mod driver;
mod environment;
mod error;
mod event_loop;
mod executor;
mod executor_nodes;
mod frame;
mod goal_status;
mod graph_options;
mod graph_queries;
mod ipc;
mod jump_handler;
#[cfg(feature = "lifecycle")]
mod lifecycle;
mod linger;
mod loan;
mod log_output;
pub mod logging;
#[cfg(feature = "master")]
mod master;
mod message_info;
mod message_stream;
mod node;
mod node_creation;
mod node_log;
mod node_options;
mod node_services;
#[cfg(feature = "type_description")]
mod node_types;
mod options;
mod outgoing;
mod own_parameters;
mod parameter_client;
mod parameter_services;
mod parameter_value;
mod parameters;
mod params;
mod pending_response;
#[cfg(feature = "master")]
mod persist;
mod polling;
mod publisher;
mod qos_events;
mod qos_overrides;
mod rate;
mod raw_services;
mod ready;
mod receive_budget;
mod responder;
mod ros1_parameters;
mod ros2_graph;
mod ros2_parameters;
mod ros_clock;
mod rtps;
mod service;
mod service_waiting;
mod shared;
mod simulation;
mod spin_count;
mod subscription;
mod sync;
mod taking;
mod task_waiter;
#[cfg(feature = "tf")]
pub mod tf;
mod time_jumps;
mod timer;
mod timers;
mod type_mapping;
mod variables;
mod wait_set;

pub use action::{
    ActionClient, ActionServer, ClientGoalHandle, DynamicActionClient, DynamicActionServer,
    DynamicGoalHandle, DynamicServerGoalHandle, FeedbackStream, GoalHandleBase, GoalOutcome,
    ServerGoalHandle, SimpleActionServer, SimpleGoalHandle,
};
pub use borrowed::Borrowed;
/// Bridges between the graphs, for Runnel's own programs. Not part of the API.
#[doc(hidden)]
pub mod bridge {
    pub use crate::bridge_node::{bridge_node_name, bridge_of_node};
    pub use crate::bridging::PublisherDescription;
    pub use crate::raw_services::{RawServiceClient, RawServiceRequest};
    pub use crate::rtps::{BridgeMark, EndpointMark};
}
pub use callback_group::CallbackGroup;
pub use client::{Client, DynamicClient};
pub use context::{Context, ContextOptions};
pub use driver::ServiceInfo;
pub use environment::{Graphs, Range as DiscoveryRange};
pub use error::{ActionError, Error, ParameterError, ServiceError};
pub use executor::Executor;
pub use goal_status::{GoalId, GoalStatus};
pub use jump_handler::JumpHandler;
#[cfg(feature = "lifecycle")]
pub use lifecycle::{
    CallbackResult, CallbackReturn, LifecycleNode, LifecycleNodeInterface, LifecyclePublisher,
    LifecycleState, TransitionError,
};
pub use loan::Loan;
#[cfg(feature = "master")]
pub use master::MasterOptions;
pub use message_info::MessageInfo;
pub use message_stream::{MessageStream, ReceivedMessage};
pub use node::Node;
pub use node_options::NodeOptions;
pub use options::{PublisherOptions, ServerOptions, SubscriptionOptions, TimerOptions, WatchOptions};
pub use outgoing::Publishable;
pub use parameter_client::ParameterClient;
pub use parameter_value::{FromParameter, ParameterValue};
pub use parameters::{
    DeclaredType, IntoParameterDeclaration, Parameter, ParameterCallback, ParameterDeclaration, RangedType,
};
pub use params::ParamWatch;
pub use pending_response::PendingResponse;
pub use polling::PollingPolicy;
pub use publisher::{DynamicPublisher, Publisher, PublisherBase};
pub use qos_events::{
    DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, MessageLost, QosEvent,
    QosEventKind,
};
pub use qos_overrides::{QosOverridingOptions, QosPolicyKind};
pub use rate::Rate;
pub use ready::GuardCondition;
pub use receive_budget::ReceiveBudget;
pub use responder::{RequestId, Responder};
pub use ros2_graph::{
    DataRepresentation, EndpointInfo, EndpointLinks, EndpointType, Gid, NodeInfo, ParticipantInfo, Ros2Graph,
};
pub use runnel_core as core;
pub use runnel_core::qos::{Durability, History, Liveliness, Policy, QoS, Reliability};
pub use runnel_core::time::Time;
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
pub use runnel_core::bounds::LengthBeyondLimit;
pub use runnel_msgs as msgs;
pub use runnel_msgs::include_interfaces;
pub use runnel_ros1::node::{ServiceFailure, TopicError};
pub use runnel_ros1::rpc::{CallError, Uri};
pub use runnel_ros1::xmlrpc::Value as XmlRpcValue;
pub use service::ServiceServer;
pub use subscription::{RawMessage, Subscription};
pub use taking::TakenMessage;
pub use time_jumps::{ClockChange, JumpThreshold, TimeJump};
pub use timer::Timer;
pub use wait_set::{WaitKey, WaitSet};
