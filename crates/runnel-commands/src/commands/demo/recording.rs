//! The bag of a drive.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use runnel::{Context, RawMessage, Subscription};
use runnel_bag::disk::Plain;
use runnel_bag::rosbag::Writer;
use runnel_bag::{BagWriter, Channel, ChannelId, Encoding, Error, NewMessage, Schema, SchemaLanguage};
use runnel_io::clock;

use crate::error::CliError;
use crate::streaming::lock;

/// The recorded topics: all topics of robot and tracer.
const TOPICS: [&str; 7] = ["/light_sensors", "/switches", "/cmd_vel", "/leds", "/buzzer", "/odom", "/tf"];

/// Messages of a topic that may wait to be written.
const DEPTH: usize = 1000;

/// Records messages while its context spins.
pub struct Recording {
    file: PathBuf,
    bag: Arc<Mutex<Bag>>,
    subscriptions: Vec<Subscription>,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The bag.
    pub file: PathBuf,
    /// Messages in it.
    pub messages: u64,
    /// Messages that are not in it, since writing took too long.
    pub lost: u64,
}

struct Bag {
    /// `None` once the bag is finished.
    writer: Option<Writer<Plain<File>>>,
    /// Topics and publishers that have a channel in the bag.
    known: Vec<(&'static str, String, ChannelId)>,
    /// The first error. Nothing is written after it.
    error: Option<Error>,
    messages: u64,
}

impl Recording {
    /// Begins to record into this file, which must not exist yet.
    ///
    /// # Errors
    /// When the file exists, or the file or the node cannot be made.
    pub fn begin(context: &Context, file: &Path) -> Result<Self, CliError> {
        let output = File::create_new(file).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CliError::Failed(format!(
                "{}: the file exists, and recordings never replace a file. Try: another name, or remove it first",
                file.display()
            )),
            _ => failed(file, &error.into()),
        })?;
        let writer = Writer::new(output).map_err(|error| failed(file, &error))?;
        let bag =
            Arc::new(Mutex::new(Bag { writer: Some(writer), known: Vec::new(), error: None, messages: 0 }));
        let node = context.create_node("record")?;
        let subscribe = |topic: &'static str| {
            let bag = Arc::clone(&bag);
            node.create_raw_subscription(topic, None, DEPTH, move |message| lock(&bag).take(topic, message))
        };
        let subscriptions = TOPICS.into_iter().map(subscribe).collect::<Result<_, _>>()?;
        Ok(Self { file: file.to_owned(), bag, subscriptions })
    }

    /// Writes the end of the bag.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(self) -> Result<Recorded, CliError> {
        let messages = lock(&self.bag).finish().map_err(|error| failed(&self.file, &error))?;
        let lost = self.subscriptions.iter().map(Subscription::dropped).sum();
        Ok(Recorded { file: self.file.clone(), messages, lost })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // The bag is completed even if the drive failed. Errors matter only in `finish`.
        let _ = lock(&self.bag).finish();
    }
}

impl Bag {
    /// Completes the bag, once. Returns the number of messages.
    fn finish(&mut self) -> Result<u64, Error> {
        match (self.error.take(), self.writer.take()) {
            (Some(error), _) => Err(error),
            (None, Some(mut writer)) => writer.finish().map(|()| self.messages),
            (None, None) => Ok(self.messages),
        }
    }

    fn take(&mut self, topic: &'static str, message: &RawMessage<'_>) {
        if let (Some(writer), None) = (&mut self.writer, &self.error) {
            self.error = write(writer, &mut self.known, topic, message).err();
            self.messages += 1;
        }
    }
}

fn write(
    writer: &mut Writer<Plain<File>>,
    known: &mut Vec<(&'static str, String, ChannelId)>,
    topic: &'static str,
    message: &RawMessage<'_>,
) -> Result<(), Error> {
    let channel = channel(writer, known, topic, message)?;
    let log_time = u64::try_from(clock::realtime().as_nanos()).unwrap_or(0);
    writer.write(&NewMessage {
        channel,
        log_time,
        publish_time: log_time,
        sequence: 0,
        data: message.bytes(),
    })
}

/// The bag's channel for a topic and publisher; a new one for the first message.
fn channel(
    writer: &mut Writer<Plain<File>>,
    known: &mut Vec<(&'static str, String, ChannelId)>,
    topic: &'static str,
    message: &RawMessage<'_>,
) -> Result<ChannelId, Error> {
    let publisher = message.publisher();
    if let Some((.., channel)) = known.iter().find(|(name, node, _)| *name == topic && node == publisher) {
        return Ok(*channel);
    }
    let channel = writer.add_channel(&Channel {
        topic: topic.to_owned(),
        type_name: message.type_name().to_owned(),
        encoding: Encoding::Ros1,
        schema: Schema { language: SchemaLanguage::Ros1Msg, data: message.definition().into() },
        md5: Some(message.md5().to_owned()),
        publisher: Some(publisher.to_owned()),
        latching: message.latching(),
        ..Channel::default()
    })?;
    known.push((topic, publisher.to_owned(), channel));
    Ok(channel)
}

fn failed(file: &Path, error: &Error) -> CliError {
    CliError::Failed(format!("{}: {error}", file.display()))
}
