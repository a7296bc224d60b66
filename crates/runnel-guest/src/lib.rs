//! The API of ROS nodes that are compiled to WebAssembly and run in Runnel.
//!
//! It has the shape of the crate `runnel`, so that one source builds as a program and as a module:
//!
//! ```toml
//! [target.'cfg(target_arch = "wasm32")'.dependencies]
//! runnel-guest = "0.1"
//! [target.'cfg(not(target_arch = "wasm32"))'.dependencies]
//! runnel = "0.1"
//! ```
//!
//! ```ignore
//! #[cfg(target_arch = "wasm32")]
//! extern crate runnel_guest as runnel;
//!
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
//! `cargo build --release --target wasm32-wasip1` makes the module. The host runs it in one thread: callbacks run only in
//! `Context::spin` and its relatives. On other targets this crate is empty.
#![cfg(target_arch = "wasm32")]

#[rustfmt::skip]
pub mod abi;
mod action;
mod context;
mod encoding;
mod entity;
mod error;
mod event_loop;
mod host;
mod logger;
pub mod logging;
mod node;
mod parameters;
mod services;
mod timer;
mod topics;
mod types;

pub use action::client::{ActionClient, ClientGoalHandle, GoalOutcome};
pub use action::server::{ActionServer, ServerGoalHandle};
pub use action::status::GoalStatus;
pub use context::rate::Rate;
pub use context::{Context, ContextOptions, Graphs, steady_time};
pub use error::{Error, ServiceError};
pub use node::Node;
pub use parameters::declaration::{DeclaredType, IntoParameterDeclaration, ParameterDeclaration};
pub use parameters::value::{FromParameter, ParameterValue};
pub use parameters::{Parameter, ParameterCallbackHandle};
pub use runnel_core as core;
pub use runnel_core::qos::{Durability, History, Liveliness, Policy, QoS, Reliability};
pub use runnel_core::time::{Duration as RosDuration, Time};
pub use runnel_msgs as msgs;
pub use runnel_msgs::include_interfaces;
pub use services::client::Client;
pub use services::responder::Responder;
pub use services::server::ServiceServer;
pub use timer::{CallbackOutput, Timer};
pub use topics::message_info::{Gid, MessageInfo};
pub use topics::publisher::{Publishable, Publisher};
pub use topics::subscription::Subscription;
