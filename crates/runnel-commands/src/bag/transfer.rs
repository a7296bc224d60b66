//! Copies messages from bags into new ones: the engine of `convert`, `filter`, `merge`, `cut` and `reindex`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use runnel::core::schema::Generation;
use runnel_bag::mcap::Profile;
use runnel_bag::{BagWriter, Channel, ChannelId, Encoding, Error, Message, Metadata, NewMessage};

use super::files::{Format, NewFile, failed};
use super::inputs::{Found, Inputs, Wanted};
use super::record::{has_sum, stored};
use super::storage::Storage;
use crate::error::CliError;
use crate::types::Types;

/// Most errors of a bag that are logged one by one.
const MOST_LOGGED: u64 = 5;

/// A bag that is written.
pub struct Output {
    file: NewFile,
    storage: Storage,
    writer: Box<dyn BagWriter + Send>,
    /// By the channels of the inputs.
    channels: BTreeMap<usize, ChannelId>,
    messages: u64,
}

/// What a transfer has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// The new bags, with their numbers of messages.
    pub files: Vec<(PathBuf, u64)>,
    /// Parts of the inputs that could not be read.
    pub damaged: u64,
}

impl Output {
    /// Begins a bag.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn create(path: PathBuf, format: Format, profile: Profile) -> Result<Self, CliError> {
        let file = NewFile::direct(path);
        let writer = file.create(format, profile)?;
        Ok(Self { file, storage: format.0, writer, channels: BTreeMap::new(), messages: 0 })
    }

    fn write(&mut self, position: usize, channel: &Channel, message: &Message) -> Result<(), CliError> {
        if self.storage == Storage::Rosbag && channel.encoding != Encoding::Ros1 {
            return Err(not_ros1(channel));
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

    fn complete(mut self, metadata: &[Metadata]) -> Result<(PathBuf, u64), CliError> {
        let error = |error: Error| failed(self.file.active(), &error);
        for one in metadata {
            self.writer.add_metadata(one).map_err(error)?;
        }
        self.writer.finish().map_err(error)?;
        self.file.complete()?;
        Ok((self.file.path().to_owned(), self.messages))
    }
}

/// Copies the wanted messages. `output` says in which of the outputs the messages of a channel go, and how the channel is
/// described there.
///
/// # Errors
/// When a bag cannot be written, or an input cannot be read at all. Damaged parts of inputs are logged and left out.
pub fn transfer(
    inputs: &mut Inputs,
    wanted: &Wanted,
    mut outputs: Vec<Output>,
    output: impl Fn(&Channel) -> (usize, Channel),
) -> Result<Transferred, CliError> {
    let targets: Vec<(usize, Channel)> = inputs.channels().iter().map(output).collect();
    let metadata = inputs.metadata();
    let damages = inputs.bags().iter().filter_map(|bag| Some((&bag.path, bag.reader.damage()?)));
    let mut damaged = damages.map(|(path, error)| log::warn!("{}", failed(path, error))).count() as u64;
    for read in inputs.messages(wanted) {
        match read {
            Ok(Found { channel, message }) => {
                let (output, described) = &targets[channel];
                outputs[*output].write(channel, described, &message)?;
            }
            Err((path, error)) => {
                damaged += 1;
                if damaged <= MOST_LOGGED {
                    log::warn!("{}", failed(&path, &error));
                }
                if matches!(error, Error::Io(_)) {
                    return Err(failed(&path, &error));
                }
            }
        }
    }
    let files = outputs.into_iter().map(|output| output.complete(&metadata));
    Ok(Transferred { files: files.collect::<Result<_, _>>()?, damaged })
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

fn not_ros1(channel: &Channel) -> CliError {
    CliError::Failed(format!(
        "topic {}: its messages are not of ROS 1, and rosbag 2.0 holds no others. Try: an output named .mcap, or \
         --split-generations",
        channel.topic
    ))
}
