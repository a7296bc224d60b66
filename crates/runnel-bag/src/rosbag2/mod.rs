//! Folders of `ros2 bag`: a file `metadata.yaml`, and MCAP or SQLite files of which each continues the one before.

mod folder_writer;
mod merge;
mod metadata;
mod metadata_text;
pub mod offered_qos;
mod reader;
mod rebuilt_metadata;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(test)]
mod tests;
#[cfg(feature = "sqlite")]
mod untrusted_database;
mod writer;
mod written_file;
mod yaml;

pub use folder_writer::{Folder, FolderWriter};
pub use metadata::{BagMetadata, CompressionMode, FileInfo, TopicInfo};
#[cfg(feature = "files")]
pub(crate) use reader::missing_files_error;
pub use reader::{BagFile, Reader, recorded_metadata};
pub use rebuilt_metadata::rebuilt_metadata;
pub use writer::{SplitLimits, Writer};
pub use written_file::FileWriter;

/// Name of the file that describes the bag.
pub const METADATA_FILE: &str = "metadata.yaml";

/// What stands before the extension in the name of a file that was written anew and is kept: `x_0.orig.mcap`. It is no
/// part of the bag.
pub const BACKUP: &str = ".orig";

/// Name of the metadata that have the texts of the user, by key. A folder has them in the field `custom_data` of
/// `metadata.yaml`, other bags in a record of this name.
pub const CUSTOM_DATA: &str = "custom_data";
