//! Bag files: recorded messages in the formats of ROS.
//!
//! [`rosbag`] reads and writes format 2.0 of ROS 1, and [`mcap`] MCAP files. The readers and writers open no files and
//! read no clock: the caller passes the input or output and the time of each message. With the feature `files`, `files`
//! creates files that are written past the page cache.
#![forbid(unsafe_code)]

mod bag;
mod bytes;
mod channel;
mod chunks;
mod compression;
mod compressor;
pub mod disk;
mod error;
#[cfg(feature = "files")]
pub mod files;
pub mod mcap;
mod padding;
pub mod rosbag;

pub use bag::{BagReader, BagWriter, ChunkTotals, Format, Message, Metadata, NewMessage, Selection, Summary};
pub use bytes::Bytes;
pub use channel::{Channel, ChannelId, Encoding, Schema, SchemaLanguage};
pub use chunks::ChunkInfo;
pub use compression::Compression;
pub use compressor::{Compressed, Compressor};
pub use error::Error;
