//! Foundation of all crates of Runnel, without I/O: names and remapping, time, deadlines, QoS, and the serialization of
//! messages.
//!
//! Without features the crate needs no standard library. Each feature includes those above it:
//!
//! | Feature | Adds |
//! |---|---|
//! | `schema` | message schemas and their hashes |
//! | `dynamic` | messages whose type is known only while the program runs |
//! | `json` | messages as JSON |
//! | `yaml` | messages as YAML and CSV |
#![cfg_attr(not(feature = "schema"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod bounds;
#[doc(hidden)]
pub mod generated;
pub mod local_peer;
pub mod message;
pub mod names;
pub mod qos;
pub mod sanitize;
pub mod sorted;
pub mod time;
pub mod timers;
pub mod wire;

#[cfg(feature = "dynamic")]
pub mod dynamic;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "json")]
pub mod yaml;

pub use message::{Action, Message, Service};
