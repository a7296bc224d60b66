//! Bags of ROS 1 in format 2.0, as `rosbag` writes them.

mod channel;
mod chunk;
#[cfg(test)]
mod damage_tests;
mod head;
mod index;
mod metadata;
mod reader;
mod records;
mod scan;
mod stored_chunk;
#[cfg(test)]
mod tests;
mod writer;
#[cfg(test)]
mod writer_tests;

pub use reader::Reader;
pub use writer::Writer;
