//! Bags of ROS 1 in format 2.0, as `rosbag` writes them.

mod chunk;
mod connection;
mod merge;
mod reader;
mod records;
mod scan;
mod source;
#[cfg(test)]
mod tests;
mod writer;

pub use connection::{Connection, ConnectionId};
pub use merge::Messages;
pub use reader::{ChunkInfo, Message, Reader, Selection};
pub use writer::Writer;
