//! What every part of Runnel shares and no operating system is needed for: names and remapping, time, deadlines, QoS,
//! and the serialization of messages.
//!
//! Features add what fewer programs need and what the standard library is needed for, each with those above it:
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
