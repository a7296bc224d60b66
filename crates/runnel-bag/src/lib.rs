//! Bag files: recorded messages in the formats of ROS.
//!
//! [`rosbag`] reads and writes format 2.0 of ROS 1, [`mcap`] MCAP files, and [`rosbag2`] the folders of `ros2 bag`.
//! This crate reads no clock. Only `open`, `files` and SQLite open files: otherwise the caller passes the input or
//! output. `files` creates files that are written past the page cache.
#![forbid(unsafe_code)]

mod attachment;
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
mod limits;
pub mod mcap;
#[cfg(feature = "files")]
mod open;
#[cfg(feature = "files")]
mod reopened_file;
pub mod rosbag;
pub mod rosbag2;

pub use attachment::Attachment;
pub use bag::{BagReader, BagWriter, ChunkTotals, Format, Message, Metadata, NewMessage, Selection, Summary};
pub use bytes::Bytes;
pub use channel::{Channel, ChannelId, Encoding, Schema, SchemaLanguage};
pub use chunks::ChunkInfo;
pub use compression::Compression;
pub use compressor::{Compressed, Compressor};
pub use error::Error;
#[cfg(feature = "files")]
pub use open::{open, open_folder};

/// The example in the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/bags.md")]
struct BagsPage;
