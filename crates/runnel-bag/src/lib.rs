//! Bags: files of recorded messages, as ROS keeps them.
//!
//! [`Writer`] makes a bag of rosbag's format 2.0, uncompressed. This crate opens no files: it is given what it writes to, and
//! the time of each message.
#![forbid(unsafe_code)]

mod records;
mod writer;

pub use writer::{Connection, ConnectionId, Writer};
