//! Bags that are read as one: their channels, and their messages by log time.

use std::iter::Peekable;
use std::path::{Path, PathBuf};

use runnel_bag::{Attachment, BagReader, Channel, ChannelId, Error, Message, Metadata, Selection};

use super::files;
use crate::error::CliError;

/// Open bags, and the channels of all.
pub struct Inputs {
    bags: Vec<Input>,
    channels: Vec<Channel>,
}

/// One bag.
pub struct Input {
    /// The file or folder.
    pub path: PathBuf,
    /// Its reader.
    pub reader: Box<dyn BagReader + Send>,
    /// Position of its first channel in those of all bags.
    first: usize,
}

/// The messages to read.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only messages of these channels, by their positions; `None` for all.
    pub channels: Option<Vec<usize>>,
    /// Only messages of this log time and later, in nanoseconds since 1970.
    pub start: Option<u64>,
    /// Only messages of this log time and earlier.
    pub end: Option<u64>,
}

/// A message, and the position of its channel among those of all bags.
#[derive(Debug)]
pub struct Found {
    pub channel: usize,
    pub message: Message,
}

/// What a bag yields: a message, or its name and why a part of it cannot be read.
pub type Read = Result<Found, (PathBuf, Error)>;

impl Inputs {
    /// Opens these bags.
    ///
    /// # Errors
    /// When one of them cannot be opened, or is no bag.
    pub fn open(paths: &[PathBuf]) -> Result<Self, CliError> {
        let mut inputs = Self { bags: Vec::new(), channels: Vec::new() };
        for path in paths {
            inputs.add(path, files::open(path)?);
        }
        Ok(inputs)
    }

    fn add(&mut self, path: &Path, reader: Box<dyn BagReader + Send>) {
        let first = self.channels.len();
        self.channels.extend(reader.channels().iter().cloned());
        self.bags.push(Input { path: path.to_owned(), reader, first });
    }

    /// The bags.
    pub fn bags(&self) -> &[Input] {
        &self.bags
    }

    /// The channels of all bags.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Files that the metadata of a folder list, but that do not exist.
    pub fn missing_files(&self) -> Vec<PathBuf> {
        let of_bag = |bag: &Input| {
            let names = bag.reader.missing_files().iter();
            names.map(|name| bag.path.join(name)).collect::<Vec<_>>()
        };
        self.bags.iter().flat_map(of_bag).collect()
    }

    /// Reads the attachments of all bags one after another.
    pub fn attachments(&mut self) -> impl Iterator<Item = Result<Attachment, (PathBuf, Error)>> {
        self.bags.iter_mut().flat_map(|Input { path, reader, .. }| {
            reader.read_attachments().map(|read| read.map_err(|error| (path.clone(), error)))
        })
    }

    /// The metadata of all bags. Those that cannot be read are logged and left out.
    pub fn metadata(&mut self) -> Vec<Metadata> {
        let read = self.bags.iter_mut().flat_map(|bag| match bag.reader.metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                log::warn!("{}", files::failed(&bag.path, &error));
                Vec::new()
            }
        });
        read.collect()
    }

    /// Log times of the first and the last message, in nanoseconds since 1970; `None` without messages.
    pub fn times(&self) -> Option<(u64, u64)> {
        let start = self.bags.iter().filter_map(|bag| bag.reader.summary().start).min()?;
        let end = self.bags.iter().filter_map(|bag| bag.reader.summary().end).max()?;
        Some((start, end))
    }

    /// Iterates over the messages by log time. After an error it continues behind the damage.
    pub fn messages(&mut self, wanted: &Wanted) -> impl Iterator<Item = Read> + Send + '_ {
        let streams = self.bags.iter_mut().map(|bag| {
            let Input { path, reader, first } = bag;
            let (path, first) = (path.clone(), *first);
            let selection = wanted.of_bag(first, reader.channels().len());
            let found = move |read: Result<Message, Error>| match read {
                Ok(message) => Ok(Found { channel: first + message.channel.index(), message }),
                Err(error) => Err((path.clone(), error)),
            };
            reader.messages(&selection).map(found).peekable()
        });
        Merged { streams: streams.collect() }
    }
}

impl Wanted {
    /// The first and the last log time at which there can be messages; `None` if the bags have none.
    pub fn times(&self, inputs: &Inputs) -> Option<(u64, u64)> {
        let (start, end) = inputs.times()?;
        Some((self.start.map_or(start, |from| from.max(start)), self.end.map_or(end, |to| to.min(end))))
    }

    /// The same for a bag with this many channels from `first` on.
    fn of_bag(&self, first: usize, count: usize) -> Selection {
        let own = first..first + count;
        let channels = self.channels.as_ref().map(|channels| {
            let positions = channels.iter().filter(|position| own.contains(position));
            positions.map(|position| ChannelId::new(position - first)).collect()
        });
        Selection { channels, start: self.start, end: self.end }
    }
}

/// The messages of several streams by log time; those of one time in the order of the streams.
struct Merged<I: Iterator> {
    streams: Vec<Peekable<I>>,
}

impl<I: Iterator<Item = Read>> Iterator for Merged<I> {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        // An error comes first: it has no time.
        let time = |read: Option<&Read>| match read? {
            Ok(found) => Some(found.message.log_time),
            Err(_) => Some(0),
        };
        let heads = self.streams.iter_mut().enumerate();
        let heads = heads.filter_map(|(index, stream)| Some((time(stream.peek())?, index)));
        let (_, next) = heads.min()?;
        self.streams[next].next()
    }
}
