//! MCAP files, with messages of ROS 1, ROS 2 or both.
//!
//! The crate `mcap` is not used here: its parser panics on a short attachment, and needs fourteen more crates. The
//! tests compare with it.

mod attachment;
mod channel;
mod chunk;
mod head;
mod index;
mod reader;
mod records;
mod scan;
mod summary;
#[cfg(test)]
mod tests;
mod writer;
mod written_chunks;

pub use attachment::AttachmentInfo;
pub use reader::Reader;
pub use writer::{Profile, Writer};

/// First and last bytes of a file.
const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";
