//! Arguments that say where a recording is written, and how.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use runnel::core::schema::Generation;
use runnel_io::clock;

use super::{COMPRESSION, CompressionArgs, OUTPUT};
use crate::bag::files::Format;
use crate::bag::quantity;
use crate::bag::record::output::BaseName;
use crate::bag::record::sink::DiskFull;
use crate::bag::storage::{ChunkCompression, CompressionSettings, Storage};
use crate::error::CliError;

/// Where a recording is written, and how.
#[derive(Debug, Default, clap::Args)]
pub struct OutputArgs {
    /// Write to this file, or folder with --storage rosbag2 [default: the date]
    #[arg(short = 'O', long, alias = "output", value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = OUTPUT)]
    pub output_name: Option<PathBuf>,

    /// Write to this name with the date behind it
    #[arg(short = 'o', long, value_name = "PREFIX", conflicts_with = "output_name", help_heading = OUTPUT)]
    pub output_prefix: Option<String>,

    /// Format of the bag [default: that of the name, or mcap]
    #[arg(short, long, value_name = "FORMAT", help_heading = OUTPUT)]
    pub storage: Option<RecordStorage>,

    /// Compress
    #[arg(long, value_name = "NAME", help_heading = COMPRESSION)]
    pub compression: Option<ChunkCompression>,

    /// Compress with LZ4: fast
    #[arg(long, conflicts_with_all = ["compression", "zstd", "bz2"], help_heading = COMPRESSION)]
    pub lz4: bool,

    /// Compress with Zstandard: smaller
    #[arg(long, conflicts_with_all = ["compression", "bz2"], help_heading = COMPRESSION)]
    pub zstd: bool,

    /// Compress with bzip2: small and slow, in rosbag 2.0
    #[arg(short = 'j', long, conflicts_with = "compression", help_heading = COMPRESSION)]
    pub bz2: bool,

    #[command(flatten)]
    pub shared_compression: CompressionArgs,

    /// How much may be lost if the recorder or its computer fails, in seconds [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = quantity::positive_duration, help_heading = OUTPUT)]
    pub max_loss: Option<Duration>,

    /// What to do when the disk is full [default: stop]
    #[arg(long, value_name = "POLICY", help_heading = OUTPUT)]
    pub disk_full: Option<DiskFull>,
}

/// A format of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RecordStorage {
    /// MCAP: messages of ROS 1 and ROS 2
    Mcap,
    /// rosbag 2.0: messages of ROS 1
    Rosbag,
    /// A folder as ros2 bag writes it, with MCAP files: messages of ROS 2
    Rosbag2,
}

/// Where a recording is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// To files of this name, which lacks number and extension.
    Files(PathBuf, Format),
    /// To the files of this folder.
    Folder(PathBuf, CompressionSettings),
}

impl Place {
    /// The name, without number and extension.
    pub fn path(&self) -> &Path {
        match self {
            Self::Files(path, _) | Self::Folder(path, _) => path,
        }
    }

    /// The generation whose messages can be written; `None` for both.
    pub fn only(&self) -> Option<Generation> {
        match self {
            Self::Files(_, (Storage::Mcap, _)) => None,
            Self::Files(_, (Storage::Rosbag, _)) => Some(Generation::Ros1),
            Self::Folder(..) => Some(Generation::Ros2),
        }
    }
}

impl OutputArgs {
    /// Where to write.
    ///
    /// # Errors
    /// When the arguments contradict each other.
    pub fn place(&self) -> Result<Place, CliError> {
        let compression = self.chunk_compression()?;
        let settings = |storage: Storage| {
            let (compression, threads) =
                (storage.compression(compression)?, self.shared_compression.threads());
            Ok::<_, CliError>(CompressionSettings { compression, threads })
        };
        let storage = match self.storage {
            Some(RecordStorage::Rosbag2) => {
                let path = self.base_name(BaseName::Rosbag2Date).at(clock::realtime());
                return Ok(Place::Folder(path, settings(Storage::Mcap)?));
            }
            Some(RecordStorage::Mcap) => Some(Storage::Mcap),
            Some(RecordStorage::Rosbag) => Some(Storage::Rosbag),
            None => None,
        };
        let path = self.base_name(BaseName::Date(String::new())).at(clock::realtime());
        let storage = Storage::for_file(storage, &path)?;
        let has_extension = Storage::of(&path).is_some();
        let base = if has_extension { path.with_extension("") } else { path };
        Ok(Place::Files(base, (storage, settings(storage)?)))
    }

    fn base_name(&self, default: BaseName) -> BaseName {
        match (&self.output_name, &self.output_prefix) {
            (Some(name), _) => BaseName::Exact(name.clone()),
            (None, Some(prefix)) => BaseName::Date(prefix.clone()),
            (None, None) => default,
        }
    }

    /// Whether the bag is compressed, if the arguments do not contradict each other.
    pub fn is_compressed(&self) -> bool {
        self.chunk_compression().is_ok_and(|compression| compression != ChunkCompression::None)
    }

    fn chunk_compression(&self) -> Result<ChunkCompression, CliError> {
        let own = match self {
            Self { lz4: true, .. } => Some(ChunkCompression::Lz4),
            Self { zstd: true, .. } => Some(ChunkCompression::Zstd),
            Self { bz2: true, .. } => Some(ChunkCompression::Bz2),
            _ => self.compression,
        };
        match (own, self.shared_compression.requested()?) {
            (Some(own), Some(shared)) if own != shared => Err(CliError::Usage(
                "--compression-mode and --storage-preset-profile compress with zstd, and another compression is \
                 requested. Try: only one of these options"
                    .into(),
            )),
            (own, shared) => Ok(own.or(shared).unwrap_or(ChunkCompression::None)),
        }
    }
}
