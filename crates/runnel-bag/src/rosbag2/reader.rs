//! Reader of folders.

use std::collections::HashMap;
use std::sync::Arc;

use super::CUSTOM_DATA;
use super::merge::{FileMessages, Merge};
use super::metadata::{BagMetadata, CompressionMode, TopicInfo};
use super::written_file::METADATA;
use crate::bag::SelectedChannels;
use crate::compression::decompress_message;
use crate::{
    Attachment, BagReader, Bytes, Channel, ChannelId, ChunkTotals, Encoding, Error, Format, Message,
    Metadata, Selection, Summary,
};

/// A file of a bag, opened.
pub struct BagFile {
    /// Its path, for errors.
    pub path: String,
    /// The file.
    pub reader: Box<dyn BagReader + Send>,
}

/// A bag of several files that is read. Channels of the same topic, type and publisher are one.
pub struct Reader {
    files: Vec<BagFile>,
    /// For each file, the bag's channels by the channels of the file.
    ids: Vec<Vec<ChannelId>>,
    channels: Vec<Channel>,
    summary: Summary,
    damage: Option<Error>,
    compresses_messages: bool,
    /// What `metadata.yaml` says.
    listed: Option<BagMetadata>,
    missing: Vec<String>,
}

impl Reader {
    /// A bag of these files, in this order. The metadata are those of `metadata.yaml`. A bag is not finished if they are
    /// missing or do not list all files.
    ///
    /// # Errors
    /// [`Error::Metadata`] when the messages are compressed in an unsupported way.
    pub fn new(metadata: Option<&BagMetadata>, files: Vec<BagFile>) -> Result<Self, Error> {
        let compresses_messages =
            metadata.is_some_and(|metadata| metadata.compression_mode == CompressionMode::Message);
        if let Some(metadata) = metadata.filter(|_| compresses_messages)
            && metadata.compression_format != "zstd"
        {
            let name = &metadata.compression_format;
            return Err(Error::Metadata(format!("message compression {name:?} is not supported")));
        }
        let mut channels = Channels::default();
        let ids = files.iter().map(|file| channels.add_file(&*file.reader)).collect::<Vec<_>>();
        if let Some(metadata) = metadata {
            channels.complete(&metadata.topics);
        }
        let damage = files.iter().find_map(|file| {
            let damage = file.reader.damage()?;
            Some(Error::Metadata(damage.to_string()).in_file(&file.path))
        });
        let mut summary = summary(&files, &ids, channels.channels.len());
        summary.is_finished &= metadata.is_some_and(|metadata| metadata.files.len() == files.len());
        let (channels, listed) = (channels.channels, metadata.cloned());
        let missing = Vec::new();
        Ok(Self { files, ids, channels, summary, damage, compresses_messages, listed, missing })
    }

    /// The files, in their order.
    pub fn files(&self) -> &[BagFile] {
        &self.files
    }

    /// What the recorder said of the bag: `metadata.yaml`, or without it what the last finished file has of it.
    pub fn recorded_metadata(&mut self) -> Option<BagMetadata> {
        let listed = self.listed.clone();
        listed.or_else(|| self.files.iter_mut().rev().find_map(|file| recorded_metadata(&mut *file.reader)))
    }

    /// Adds damage outside of the files. Earlier damage stays: that of a file says what is lost.
    #[cfg(feature = "files")]
    pub(crate) fn add_damage(&mut self, damage: Error) {
        self.damage.get_or_insert(damage);
    }

    /// Adds files that `metadata.yaml` lists, but that do not exist.
    #[cfg(feature = "files")]
    pub(crate) fn add_missing(&mut self, names: Vec<String>) {
        if !names.is_empty() {
            self.summary.is_finished = false;
            self.add_damage(missing_files_error(&names));
        }
        self.missing = names;
    }
}

impl BagReader for Reader {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    fn messages(
        &mut self,
        selection: &Selection,
    ) -> Box<dyn Iterator<Item = Result<Message, Error>> + Send + '_> {
        let files = self.files.iter_mut().zip(&self.ids);
        let messages = Merge::new(files.filter_map(|(file, ids)| {
            let start = file.reader.summary().start?;
            Some((start, messages_of_file(file, ids, selection)))
        }));
        if self.compresses_messages {
            Box::new(messages.map(|message| message.and_then(decompressed)))
        } else {
            Box::new(messages)
        }
    }

    fn file_starts(&self) -> Vec<(String, u64)> {
        let start = |file: &BagFile| Some((file.path.clone(), file.reader.summary().start?));
        self.files.iter().filter_map(start).collect()
    }

    fn missing_files(&self) -> &[String] {
        &self.missing
    }

    fn metadata(&mut self) -> Result<Vec<Metadata>, Error> {
        let mut all = Vec::new();
        for file in &mut self.files {
            all.extend(file.reader.metadata().map_err(|error| error.in_file(&file.path))?);
        }
        let values = self.recorded_metadata().map(|recorded| recorded.custom_data).unwrap_or_default();
        if !values.is_empty() {
            all.push(Metadata { name: CUSTOM_DATA.to_owned(), values });
        }
        Ok(all)
    }

    fn read_attachments(&mut self) -> Box<dyn Iterator<Item = Result<Attachment, Error>> + Send + '_> {
        Box::new(self.files.iter_mut().flat_map(|BagFile { path, reader }| {
            reader.read_attachments().map(|read| read.map_err(|error| error.in_file(path)))
        }))
    }
}

/// The damage of files that `metadata.yaml` lists, but that do not exist.
#[cfg(feature = "files")]
pub(crate) fn missing_files_error(names: &[String]) -> Error {
    Error::MissingFiles(names.to_vec()).in_file(super::METADATA_FILE)
}

/// What the recorder said of the bag in one of its files. Damage of it is no damage of the bag.
pub fn recorded_metadata(file: &mut dyn BagReader) -> Option<BagMetadata> {
    let (name, key) = METADATA;
    let records = file.metadata().ok()?;
    let record = records.iter().rev().find(|record| record.name == name)?;
    BagMetadata::parse(record.values.get(key)?).ok()
}

fn messages_of_file<'a>(
    file: &'a mut BagFile,
    ids: &'a [ChannelId],
    selection: &Selection,
) -> FileMessages<'a> {
    let selected = SelectedChannels::of(selection);
    let channels = selection
        .channels
        .is_some()
        .then(|| (0..ids.len()).filter(|id| selected.has(ids[*id])).map(|id| ChannelId(id as u32)).collect());
    let selection = Selection { channels, ..selection.clone() };
    let BagFile { path, reader } = file;
    Box::new(reader.messages(&selection).map(|message| {
        let message = message.map_err(|error| error.in_file(path))?;
        Ok(Message { channel: ids[message.channel.index()], ..message })
    }))
}

fn decompressed(message: Message) -> Result<Message, Error> {
    let log_time = message.log_time;
    let data = decompress_message(&message.data)
        .map_err(|source| Error::MessageDecompression { log_time, source })?;
    let data = Arc::new(data);
    let data = Bytes::part(&data, 0..data.len());
    Ok(Message { data, ..message })
}

/// The channels of all files.
#[derive(Default)]
struct Channels {
    channels: Vec<Channel>,
    known: HashMap<(String, String, Encoding, Option<String>), ChannelId>,
}

impl Channels {
    /// Adds the channels of a file; returns the bag's.
    fn add_file(&mut self, file: &dyn BagReader) -> Vec<ChannelId> {
        file.channels().iter().map(|channel| self.add(channel)).collect()
    }

    fn add(&mut self, channel: &Channel) -> ChannelId {
        let Channel { topic, type_name, encoding, publisher, .. } = channel.clone();
        *self.known.entry((topic, type_name, encoding, publisher)).or_insert_with(|| {
            self.channels.push(channel.clone());
            ChannelId(self.channels.len() as u32 - 1)
        })
    }

    /// Adds what only the metadata know.
    fn complete(&mut self, topics: &[TopicInfo]) {
        for channel in &mut self.channels {
            let Some(topic) = topics.iter().find(|topic| topic.name == channel.topic) else { continue };
            channel.offered_qos = channel.offered_qos.take().or_else(|| topic.offered_qos.clone());
            channel.type_hash = channel.type_hash.take().or_else(|| topic.type_hash.clone());
        }
    }
}

fn summary(files: &[BagFile], ids: &[Vec<ChannelId>], channels: usize) -> Summary {
    let summaries = || files.iter().map(|file| file.reader.summary());
    let mut counts = vec![0; channels];
    let mut chunks = Vec::new();
    for (summary, ids) in summaries().zip(ids) {
        for (id, count) in ids.iter().zip(&summary.counts) {
            let total: &mut u64 = &mut counts[id.index()];
            *total = total.saturating_add(*count);
        }
        for (compression, totals) in &summary.chunks {
            ChunkTotals::add_all(&mut chunks, *compression, *totals);
        }
    }
    Summary {
        format: match summaries().next().map(|summary| summary.format) {
            Some(Format::Rosbag2Sqlite) => Format::Rosbag2Sqlite,
            _ => Format::Rosbag2Mcap,
        },
        len: summaries().map(|summary| summary.len).sum(),
        is_finished: summaries().all(|summary| summary.is_finished),
        start: summaries().filter_map(|summary| summary.start).min(),
        end: summaries().filter_map(|summary| summary.end).max(),
        counts,
        chunks,
    }
}
