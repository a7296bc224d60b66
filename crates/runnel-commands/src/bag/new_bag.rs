//! Arguments of commands that write a bag from others.

use std::path::{Path, PathBuf};

use runnel_bag::mcap::Profile;
use runnel_bag::{Channel, ChunkTotals, Compression, Encoding, Format, SchemaLanguage};

use super::files;
use super::inputs::{Input, Inputs};
use super::record::RecordStorage;
use super::storage::{ChunkCompression, CompressionSettings, Storage};
use super::transfer::{NewFormat, Output, Transferred};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::{counted, lines};

/// Format of a new bag.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct NewBag {
    /// Format of the new bag [default: that of its name, or mcap]
    #[arg(short, long, value_name = "FORMAT")]
    pub storage: Option<RecordStorage>,

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
            Format::Rosbag => RecordStorage::Rosbag,
            Format::Mcap => RecordStorage::Mcap,
            format => {
                let path = input.path.display();
                let why =
                    format!("{format} is written anew as one file. Try: runnel bag convert {path} NEW.mcap");
                return Err(CliError::Failed(format!("{path}: {why}")));
            }
        };
        Ok(Self { storage: Some(storage), compression: None })
    }

    /// Begins a bag of this name for the messages of all channels.
    ///
    /// # Errors
    /// When the format does not have the compression, or the file cannot be created.
    pub fn create(self, path: &Path, inputs: &Inputs) -> Result<Output, CliError> {
        self.create_with(path, inputs, profile(inputs.channels()))
    }

    /// Begins a bag that replaces the file of this name once it is complete, with this profile if it is MCAP. The old file
    /// is kept under the name `backup`.
    ///
    /// # Errors
    /// As [`NewBag::create`], and when the name `backup` is taken.
    pub fn replace(
        self,
        path: &Path,
        backup: PathBuf,
        inputs: &Inputs,
        profile: Profile,
    ) -> Result<Output, CliError> {
        Output::replace(path, backup, self.file_format(path, inputs)?, profile)
    }

    /// Begins a bag of this name with this profile, if it is MCAP.
    ///
    /// # Errors
    /// As [`NewBag::create`].
    pub fn create_with(self, path: &Path, inputs: &Inputs, profile: Profile) -> Result<Output, CliError> {
        let format = match self.storage {
            Some(RecordStorage::Rosbag2) => {
                NewFormat::Folder(self.compression(Storage::Mcap, inputs)?.into())
            }
            _ => NewFormat::File(self.file_format(path, inputs)?),
        };
        Output::create(path, &format, profile)
    }

    fn file_format(self, path: &Path, inputs: &Inputs) -> Result<files::Format, CliError> {
        let requested = match self.storage {
            Some(RecordStorage::Rosbag) => Some(Storage::Rosbag),
            Some(_) => Some(Storage::Mcap),
            None => None,
        };
        let storage = Storage::for_file(requested, path)?;
        Ok((storage, self.compression(storage, inputs)?))
    }

    fn compression(self, storage: Storage, inputs: &Inputs) -> Result<CompressionSettings, CliError> {
        let compression = match self.compression {
            Some(requested) => storage.compression(requested)?,
            None => usual_compression(storage, inputs),
        };
        Ok(compression.into())
    }
}

/// The profile of an MCAP file with these channels. Those of ROS demand the definition of each type.
pub fn profile(channels: &[Channel]) -> Profile {
    let has = |encoding: Encoding| channels.iter().any(|channel| channel.encoding == encoding);
    match (has(Encoding::Ros1), has(Encoding::Cdr)) {
        _ if !are_defined(channels) => Profile::None,
        (true, false) => Profile::Ros1,
        (false, true) => Profile::Ros2,
        _ => Profile::None,
    }
}

/// Whether the types of all channels have a definition.
pub fn are_defined(channels: &[Channel]) -> bool {
    channels.iter().all(|channel| channel.schema.language != SchemaLanguage::None)
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
        let missing = self.missing.iter().map(|path| format!("{}: missing, left out", path.display()));
        let text = || lines(self.files.iter().map(row).chain(damage).chain(missing));
        let file = |(path, messages): &(PathBuf, u64)| serde_json::json!({ "path": path.display().to_string(), "messages": messages });
        let files: Vec<_> = self.files.iter().map(file).collect();
        let missing: Vec<_> = self.missing.iter().map(|path| path.display().to_string()).collect();
        let json = || serde_json::json!({ "files": files, "damaged": self.damaged, "missing": missing });
        cli.output.answer(text, json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_is_that_of_all_channels() {
        let channel = |encoding, language| {
            let mut channel = Channel { encoding, ..Channel::default() };
            channel.schema.language = language;
            channel
        };
        let one = channel(Encoding::Ros1, SchemaLanguage::Ros1Msg);
        let two = channel(Encoding::Cdr, SchemaLanguage::Ros2Msg);
        assert_eq!(profile(std::slice::from_ref(&one)), Profile::Ros1);
        assert_eq!(profile(&[two.clone(), two.clone()]), Profile::Ros2);
        assert_eq!(profile(&[one, two.clone()]), Profile::None);
        assert_eq!(profile(&[two, channel(Encoding::Cdr, SchemaLanguage::None)]), Profile::None);
        assert_eq!(profile(&[]), Profile::None);
    }
}
