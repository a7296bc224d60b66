//! Arguments that say where a recording is written, and how.

use std::collections::BTreeMap;
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

/// Most messages of a publisher with which a bag begins.
const MOST_REPEATED: usize = 1000;

/// Where a recording is written, and how.
#[derive(Debug, Default, clap::Args)]
pub struct OutputArgs {
    /// Write to this file, or folder with --storage rosbag2 [default: the date]
    #[arg(short = 'O', long, alias = "output", value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = OUTPUT)]
    pub output_name: Option<PathBuf>,

    /// Write to this name with the date behind it
    #[arg(short = 'o', long, value_name = "PREFIX", conflicts_with = "output_name", help_heading = OUTPUT)]
    pub output_prefix: Option<String>,

    /// Folder of the bag, which is created if it is missing [default: the current one]
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath, help_heading = OUTPUT)]
    pub output_dir: Option<PathBuf>,

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

    /// Store these texts in the metadata of the bag
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = custom_data, help_heading = OUTPUT)]
    pub custom_data: Vec<(String, String)>,

    /// End when less than this is free on the disk, such as 1G, or remove old bags with --disk-full drop-oldest
    #[arg(short = 'L', long, value_name = "SIZE", value_parser = quantity::space, help_heading = OUTPUT)]
    pub min_space: Option<u64>,

    /// How many of the last messages of each transient local or latched publisher of a topic later bags begin with
    /// [default: 1]
    #[arg(long, value_name = "TOPIC[=DEPTH]", num_args = 1.., value_parser = repeated, help_heading = OUTPUT)]
    pub repeat_transient_local: Vec<(String, usize)>,

    // Accepted: each bag begins with them.
    #[arg(long, alias = "repeat-all-transient-local", hide = true)]
    pub repeat_latched: bool,

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
pub enum Destination {
    /// To files of this name, which lacks number and extension.
    Files(PathBuf, Format),
    /// To the files of this folder.
    Folder(PathBuf, CompressionSettings),
}

impl Destination {
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

/// A text of the user by its key: `KEY=VALUE`.
///
/// # Errors
/// When it is none.
pub fn custom_data(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or_else(|| "expected KEY=VALUE".to_owned())
}

/// A topic and how many of its messages are repeated: `TOPIC` or `TOPIC=DEPTH`.
///
/// # Errors
/// When it is none.
pub fn repeated(text: &str) -> Result<(String, usize), String> {
    let (topic, depth) = text.split_once('=').unwrap_or((text, "1"));
    let depth = depth.parse().ok().filter(|depth| (1..=MOST_REPEATED).contains(depth));
    let expected = || format!("expected TOPIC or TOPIC=DEPTH with a depth from 1 to {MOST_REPEATED}");
    depth.filter(|_| !topic.is_empty()).map(|depth| (topic.to_owned(), depth)).ok_or_else(expected)
}

impl OutputArgs {
    /// Where to write.
    ///
    /// # Errors
    /// When the arguments contradict each other.
    pub fn destination(&self) -> Result<Destination, CliError> {
        let compression = self.chunk_compression()?;
        let settings = |storage: Storage| {
            let (compression, threads) =
                (storage.compression(compression)?, self.shared_compression.threads());
            Ok::<_, CliError>(CompressionSettings { compression, threads })
        };
        let storage = match self.storage {
            Some(RecordStorage::Rosbag2) => {
                let path = self.path(BaseName::Rosbag2Date);
                return Ok(Destination::Folder(path, settings(Storage::Mcap)?));
            }
            Some(RecordStorage::Mcap) => Some(Storage::Mcap),
            Some(RecordStorage::Rosbag) => Some(Storage::Rosbag),
            None => None,
        };
        let path = self.path(BaseName::Date(String::new()));
        let storage = Storage::for_file(storage, &path)?;
        let has_extension = Storage::of(&path).is_some();
        let base = if has_extension { path.with_extension("") } else { path };
        Ok(Destination::Files(base, (storage, settings(storage)?)))
    }

    /// The name of the bag, without number and extension.
    fn path(&self, default: BaseName) -> PathBuf {
        let name = match (&self.output_name, &self.output_prefix) {
            (Some(name), _) => BaseName::Exact(name.clone()),
            (None, Some(prefix)) => BaseName::Date(prefix.clone()),
            (None, None) => default,
        };
        let name = name.at(clock::realtime());
        self.output_dir.as_ref().map_or_else(|| name.clone(), |folder| folder.join(&name))
    }

    /// The texts for the metadata. Of several with one key, the last one counts.
    pub fn custom_data(&self) -> BTreeMap<String, String> {
        self.custom_data.iter().cloned().collect()
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
