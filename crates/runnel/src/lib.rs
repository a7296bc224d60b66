//! Runnel: a light runtime for robot nodes that speaks ROS with no ROS installed.
//!
//! ```no_run
//! use runnel::msgs::std_msgs::String;
//!
//! fn main() -> Result<(), runnel::Error> {
//!     let context = runnel::Context::new()?;
//!     let node = context.create_node("listener")?;
//!     let _chatter = node.create_subscription("chatter", 10, |message: &String| println!("{}", message.data))?;
//!     context.spin()
//! }
//! ```
//!
//! The thread that spins is the thread that waits for messages and calls back. Publishing works from any thread, and
//! a program may publish in a loop without spinning at all: what peers ask meanwhile is answered.
#![forbid(unsafe_code)]

mod context;
mod data;
mod driver;
mod environment;
mod error;
mod executor;
mod graph;
mod node;
mod polling;
mod publisher;
mod rate;
mod subscription;
mod sync;
mod timer;
mod timers;
mod turning;

pub use context::{Context, ContextOptions};
pub use error::Error;
pub use executor::Executor;
pub use node::Node;
pub use polling::PollingPolicy;
pub use publisher::{DynamicPublisher, Publishable, Publisher};
pub use rate::Rate;
pub use runnel_core as core;
pub use runnel_core::qos::QoS;
pub use runnel_core::time::Time;
pub use runnel_io as io;
pub use runnel_msgs as msgs;
pub use runnel_msgs::include_interfaces;
pub use runnel_ros1 as ros1;
pub use subscription::{RawMessage, Subscription};
pub use timer::Timer;
