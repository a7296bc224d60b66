//! What every part of Runnel shares and no operating system is needed for: names and remapping, time,
//! deadlines, QoS, and the serialization of messages; with the feature `std` also message schemas, their hashes,
//! dynamic values and the YAML forms of messages.
#![cfg_attr(not(feature = "std"), no_std)]
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

#[cfg(feature = "std")]
pub mod dynamic;
#[cfg(feature = "std")]
pub mod schema;
#[cfg(feature = "std")]
pub mod yaml;

pub use message::{Action, Message, Service};
