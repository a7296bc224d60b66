//! Copies messages from bags into new ones: the engine of `convert`, `filter`, `merge`, `cut` and `reindex`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runnel::core::schema::Generation;
use runnel_bag::mcap::Profile;
use runnel_bag::{Attachment, BagWriter, Channel, ChannelId, Encoding, Error, Message, Metadata, NewMessage};
use runnel_io::files::rename_new;

use super::copied_metadata::copied;
use super::damage_log::DamageLog;
use super::files::{FolderFormat, Format, NewFile, exists, failed, is_taken};
use super::inputs::{Found, Inputs, Wanted};
use super::reading_progress::ReadingProgress;
use super::record::{has_sum, stored};
use super::storage::Storage;
use crate::error::CliError;
use crate::types::Types;

/// A bag that is written.
pub struct Output {
    file: NewFile,
    /// The only encoding that the format has; `None` if it has all.
    only: Option<Encoding>,
    writer: Box<dyn BagWriter + Send>,
    /// By the channels of the inputs.
    channels: BTreeMap<usize, ChannelId>,
    messages: u64,
    /// The name that the old file gets, if this one replaces it.
    backup: Option<PathBuf>,
    is_complete: bool,
}

/// How a bag is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewFormat {
    File(Format),
    /// A folder of `ros2 bag`.
    Folder(FolderFormat),
}

/// What a transfer has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// The new bags, with their numbers of messages.
    pub files: Vec<(PathBuf, u64)>,
    /// Parts of the inputs that could not be read.
    pub damaged: u64,
    /// Files that the metadata of a folder listed, but that do not exist.
    pub missing: Vec<PathBuf>,
}

impl NewFormat {
    /// The only encoding of messages that the format has; `None` if it has all.
    fn only(&self) -> Option<Encoding> {
        match self {
            Self::File((Storage::Mcap, _)) => None,
            Self::File((Storage::Rosbag, _)) => Some(Encoding::Ros1),
            Self::Folder(_) => Some(Encoding::Cdr),
        }
    }
}

impl Output {
    /// Begins a bag, with this profile if it is MCAP.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn create(path: &Path, format: &NewFormat, profile: Profile) -> Result<Self, CliError> {
        let file = NewFile::of_copy(path);
        let writer = match format {
            NewFormat::File(format) => file.create(*format, profile)?,
            NewFormat::Folder(format) => file.create_folder(format)?,
        };
        Ok(Self::new(file, format.only(), writer))
    }

    /// Begins a bag that replaces the file of this name once it is complete. The old file is kept under the name `backup`.
    ///
    /// # Errors
    /// When that name is taken, or the file cannot be created.
    pub fn replace(path: &Path, backup: PathBuf, format: Format, profile: Profile) -> Result<Self, CliError> {
        if is_taken(&backup) {
            return Err(exists(&backup));
        }
        let file = NewFile::of_copy(path);
        let writer = file.create_replacement(format, profile)?;
        let mut output = Self::new(file, NewFormat::File(format).only(), writer);
        output.backup = Some(backup);
        Ok(output)
    }

    fn new(file: NewFile, only: Option<Encoding>, writer: Box<dyn BagWriter + Send>) -> Self {
        let channels = BTreeMap::new();
        Self { file, only, writer, channels, messages: 0, backup: None, is_complete: false }
    }

    fn write(&mut self, position: usize, channel: &Channel, message: &Message) -> Result<(), CliError> {
        if let Some(only) = self.only.as_ref().filter(|only| **only != channel.encoding) {
            return Err(other_encoding(channel, only));
        }
        let written = self.write_as(position, channel, message);
        written.map_err(|error| failed(self.file.active(), &error))
    }

    fn write_as(&mut self, position: usize, channel: &Channel, message: &Message) -> Result<(), Error> {
        let id = match self.channels.get(&position) {
            Some(id) => *id,
            None => {
                let id = self.writer.add_channel(channel)?;
                self.channels.insert(position, id);
                id
            }
        };
        self.messages += 1;
        let Message { log_time, publish_time, sequence, ref data, .. } = *message;
        self.writer.write(&NewMessage {
            channel: id,
            log_time,
            publish_time,
            sequence,
            data: data[..].into(),
        })
    }

    /// Adds an attachment; whether the format has them.
    fn add_attachment(&mut self, attachment: &Attachment) -> Result<bool, CliError> {
        self.writer.add_attachment(attachment).map_err(|error| failed(self.file.active(), &error))
    }

    fn complete(mut self, metadata: &[Metadata]) -> Result<(PathBuf, u64), CliError> {
        let error = |error: Error| failed(self.file.active(), &error);
        for one in metadata {
            self.writer.add_metadata(one).map_err(error)?;
        }
        self.writer.finish().map_err(error)?;
        self.take_name()?;
        self.is_complete = true;
        Ok((self.file.path().to_owned(), self.messages))
    }

    /// Gives the complete file its name, and another one to the old file.
    fn take_name(&self) -> Result<(), CliError> {
        let Some(backup) = &self.backup else { return self.file.complete() };
        let path = self.file.path();
        let moved = rename_new(path, backup);
        moved.map_err(|error| CliError::Failed(format!("{}: {error}", backup.display())))?;
        // Without a new bag, the old one gets its name back.
        self.file.complete().inspect_err(|_| _ = rename_new(backup, path))
    }
}

/// A bag that is not complete is removed.
impl Drop for Output {
    fn drop(&mut self) {
        if !self.is_complete {
            self.file.discard();
        }
    }
}

/// Where the messages of a channel go: the positions of the outputs, and how the channel is described there.
pub type Targets = Vec<(usize, Channel)>;

/// The first output, with the same channel.
pub fn first_output(channel: &Channel) -> Targets {
    vec![(0, channel.clone())]
}

/// Copies the wanted messages into the targets of their channels.
///
/// # Errors
/// When a bag cannot be written, or an input cannot be read at all. Damaged parts of inputs are logged and left out.
pub fn transfer(
    inputs: &mut Inputs,
    wanted: &Wanted,
    mut outputs: Vec<Output>,
    targets: impl Fn(&Channel) -> Targets,
    progress: &mut ReadingProgress,
) -> Result<Transferred, CliError> {
    let targets: Vec<Targets> = inputs.channels().iter().map(targets).collect();
    let metadata = copied(inputs.metadata());
    let missing = inputs.missing_files();
    let mut damage = DamageLog::default();
    let damages = inputs.bags().iter().filter_map(|bag| Some((&bag.path, bag.reader.damage()?)));
    let damages = damages.filter(|(_, error)| !error.is_of_missing_files());
    damages.for_each(|(path, error)| damage.add(path, error));
    copy_attachments(inputs, &mut outputs, &mut damage)?;
    progress.begin(wanted.times(inputs));
    for read in inputs.messages(wanted) {
        match read {
            Ok(Found { channel, message }) => {
                progress.count(message.log_time);
                for (output, described) in &targets[channel] {
                    outputs[*output].write(channel, described, &message)?;
                }
            }
            Err((path, error)) => leave_out(&path, &error, &mut damage)?,
        }
    }
    progress.end();
    let files = outputs.into_iter().map(|output| output.complete(&metadata));
    Ok(Transferred { files: files.collect::<Result<_, _>>()?, damaged: damage.count(), missing })
}

/// Counts and logs a damaged part.
///
/// # Errors
/// When the input cannot be read at all.
fn leave_out(path: &Path, error: &Error, damage: &mut DamageLog) -> Result<(), CliError> {
    damage.add(path, error);
    if matches!(error, Error::Io(_)) { Err(failed(path, error)) } else { Ok(()) }
}

/// Copies the attachments of all inputs into each output whose format has them.
fn copy_attachments(
    inputs: &mut Inputs,
    outputs: &mut [Output],
    damage: &mut DamageLog,
) -> Result<(), CliError> {
    let mut left_out = 0;
    for read in inputs.attachments() {
        match read {
            Ok(attachment) => {
                for output in &mut *outputs {
                    left_out += u64::from(!output.add_attachment(&attachment)?);
                }
            }
            Err((path, error)) => leave_out(&path, &error, damage)?,
        }
    }
    if left_out > 0 {
        log::warn!(
            "attachments that rosbag 2.0 cannot hold are left out: {left_out}. Try: an output named .mcap"
        );
    }
    Ok(())
}

/// A channel with the definition that is known here, if the bag has none.
pub fn completed(channel: &Channel, types: &Types) -> Channel {
    let (generation, sum) = match channel.encoding {
        Encoding::Ros1 => (Generation::Ros1, channel.md5.as_deref()),
        Encoding::Cdr => (Generation::Ros2, channel.type_hash.as_deref()),
        _ => return channel.clone(),
    };
    let mut channel = channel.clone();
    if !channel.schema.data.is_empty() {
        return channel;
    }
    match types.message_in(generation, &channel.type_name) {
        Ok(schema) if has_sum(&schema, sum.unwrap_or_default()) => channel.schema = stored(&schema),
        _ => {}
    }
    channel
}

fn other_encoding(channel: &Channel, only: &Encoding) -> CliError {
    let (generation, format) = match only {
        Encoding::Ros1 => ("ROS 1", "rosbag 2.0 holds"),
        _ => ("ROS 2", "folders of ros2 bag hold"),
    };
    CliError::Failed(format!(
        "topic {}: its messages are not of {generation}, and {format} no others. Try: an output named .mcap, or \
         --split-generations",
        channel.topic
    ))
}
