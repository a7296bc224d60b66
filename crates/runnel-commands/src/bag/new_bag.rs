//! Arguments of commands that write a bag from others.

use std::path::{Path, PathBuf};

use runnel_bag::mcap::Profile;
use runnel_bag::{ChunkTotals, Compression, Encoding, Format};

use super::inputs::{Input, Inputs};
use super::storage::{ChunkCompression, Storage};
use super::transfer::{Output, Transferred};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::{counted, lines};

/// Format of a new bag.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct NewBag {
    /// Format of the new bag [default: that of its name, or mcap]
    #[arg(short, long, value_name = "FORMAT")]
    pub storage: Option<Storage>,

    /// Compression of the new bag [default: as before]
    #[arg(long, value_name = "NAME")]
    pub compression: Option<ChunkCompression>,
}

impl NewBag {
    /// The format of a bag.
    ///
    /// # Errors
    /// When that format is not written in one file.
    pub fn like(input: &Input) -> Result<Self, CliError> {
        let storage = match input.reader.summary().format {
            Format::Rosbag => Storage::Rosbag,
            Format::Mcap => Storage::Mcap,
            format => {
                let path = input.path.display();
                let what =
                    format!("{format} is written anew as one file. Try: runnel bag convert {path} NEW.mcap");
                return Err(CliError::Failed(format!("{path}: {what}")));
            }
        };
        Ok(Self { storage: Some(storage), compression: None })
    }

    /// Begins a bag of this name for the messages of all channels.
    ///
    /// # Errors
    /// When the format does not have the compression, or the file cannot be created.
    pub fn create(self, path: &Path, inputs: &Inputs) -> Result<Output, CliError> {
        let has = |encoding: Encoding| inputs.channels().iter().any(|channel| channel.encoding == encoding);
        let profile = match (has(Encoding::Ros1), has(Encoding::Cdr)) {
            (true, false) => Profile::Ros1,
            (false, true) => Profile::Ros2,
            _ => Profile::None,
        };
        self.create_with(path, inputs, profile)
    }

    /// Begins a bag of this name with this profile, if it is MCAP.
    ///
    /// # Errors
    /// As [`NewBag::create`].
    pub fn create_with(self, path: &Path, inputs: &Inputs, profile: Profile) -> Result<Output, CliError> {
        let storage = Storage::for_file(self.storage, path)?;
        let compression = match self.compression {
            Some(requested) => storage.compression(requested)?,
            None => usual_compression(storage, inputs),
        };
        Output::create(path.to_owned(), (storage, compression), profile)
    }
}

/// The compression of most chunks of the bags, or the fastest if the format does not have it.
fn usual_compression(storage: Storage, inputs: &Inputs) -> Compression {
    let chunks = inputs.bags().iter().flat_map(|bag| &bag.reader.summary().chunks);
    let usual = chunks.max_by_key(|(_, ChunkTotals { count, .. })| *count).map(|(usual, _)| *usual);
    match (usual.unwrap_or_default(), storage) {
        (Compression::Bz2, Storage::Mcap) | (Compression::Zstd, Storage::Rosbag) => Compression::Lz4,
        (usual, _) => usual,
    }
}

impl Transferred {
    /// Prints the new bags.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn print(&self, cli: &CliContext) -> Result<(), CliError> {
        let row = |(path, messages): &(PathBuf, u64)| {
            format!("{}: {}", path.display(), counted(*messages, "message"))
        };
        let damage = (self.damaged > 0).then(|| format!("damaged parts left out: {}", self.damaged));
        let text = || lines(self.files.iter().map(row).chain(damage));
        let file = |(path, messages): &(PathBuf, u64)| serde_json::json!({ "path": path.display().to_string(), "messages": messages });
        let files: Vec<_> = self.files.iter().map(file).collect();
        let json = || serde_json::json!({ "files": files, "damaged": self.damaged });
        cli.output.answer(text, json)
    }
}
