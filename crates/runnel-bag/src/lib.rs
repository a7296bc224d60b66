//! Bag files: recorded messages in ROS formats.
//!
//! [`Writer`] writes a rosbag 2.0 bag, uncompressed. This crate opens no files: the caller passes the output and the
//! time of each message.
#![forbid(unsafe_code)]

mod records;
mod writer;

pub use writer::{Connection, ConnectionId, Writer};
