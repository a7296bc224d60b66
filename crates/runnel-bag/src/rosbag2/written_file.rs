//! Writer of one file of a folder.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use super::metadata::{BagMetadata, FileInfo, TopicInfo};
use super::offered_qos;
use crate::disk::Disk;
use crate::mcap::{self, Profile};
use crate::{Attachment, BagWriter, Channel, ChannelId, Compression, Error, Metadata, NewMessage};

/// Name of the MCAP metadata in which rosbag2 keeps what `metadata.yaml` says, and its key.
pub(super) const METADATA: (&str, &str) = ("rosbag2", "serialized_metadata");

/// A file of a folder in progress. [`BagWriter::finish`] also stores in the file what `metadata.yaml` says of the folder
/// by then, as `ros2 bag` does.
pub struct FileWriter<D: Disk> {
    file: mcap::Writer<D>,
    written: WrittenFile,
    /// Log time of the latest message.
    end: u64,
    /// Positions of the channels in the topics of the file.
    topics: Vec<usize>,
    is_finished: bool,
    /// The folder, whose last file this is.
    folder: Contents,
}

/// What a folder has.
#[derive(Clone, Default)]
pub(super) struct Contents {
    pub(super) files: VecDeque<Arc<OnceLock<WrittenFile>>>,
    pub(super) ros_distro: String,
    pub(super) custom_data: BTreeMap<String, String>,
}

/// What the metadata say of a file.
#[derive(Clone, Default)]
pub(super) struct WrittenFile {
    pub(super) info: FileInfo,
    topics: Vec<TopicInfo>,
}

impl<D: Disk> FileWriter<D> {
    pub(super) fn new(disk: D, path: String, profile: Profile, folder: Contents) -> Result<Self, Error> {
        let info = FileInfo { path, ..FileInfo::default() };
        Ok(Self {
            file: mcap::Writer::on_disk(disk, profile)?,
            written: WrittenFile { info, topics: Vec::new() },
            end: 0,
            topics: Vec::new(),
            is_finished: false,
            folder,
        })
    }

    /// Adds a text to what [`BagWriter::finish`] says of the folder.
    pub(super) fn add_custom_data(&mut self, key: &str, value: &str) {
        self.folder.custom_data.insert(key.to_owned(), value.to_owned());
    }
}

impl<D: Disk> BagWriter for FileWriter<D> {
    fn set_compression(&mut self, compression: Compression) -> Result<(), Error> {
        self.file.set_compression(compression)
    }

    #[cfg(feature = "files")]
    fn set_compression_threads(&mut self, threads: usize) -> Result<(), Error> {
        self.file.set_compression_threads(threads)
    }

    fn set_chunk_len(&mut self, bytes: u64) {
        self.file.set_chunk_len(bytes);
    }

    fn add_channel(&mut self, channel: &Channel) -> Result<ChannelId, Error> {
        let mut channel = channel.clone();
        // Version 9 has words, also in the files.
        let words = channel.offered_qos.as_ref().and_then(|offered| offered_qos::in_words(offered, 0));
        channel.offered_qos = words.or(channel.offered_qos);
        let id = self.file.add_channel(&channel)?;
        self.topics.push(self.written.topic(&channel));
        Ok(id)
    }

    fn write(&mut self, message: &NewMessage<'_>) -> Result<(), Error> {
        self.file.write(message)?;
        let WrittenFile { info, topics } = &mut self.written;
        topics[self.topics[message.channel.index()]].message_count += 1;
        if info.message_count == 0 {
            info.start = message.log_time;
            self.end = message.log_time;
        }
        info.start = info.start.min(message.log_time);
        self.end = self.end.max(message.log_time);
        info.duration = self.end - info.start;
        info.message_count += 1;
        Ok(())
    }

    fn add_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        self.file.add_metadata(metadata)
    }

    fn update_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        self.file.update_metadata(metadata)
    }

    fn add_attachment(&mut self, attachment: &Attachment) -> Result<bool, Error> {
        self.file.add_attachment(attachment)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.file.flush()
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.file.sync()
    }

    fn file_len(&self) -> u64 {
        self.file.file_len()
    }

    fn finish(&mut self) -> Result<(), Error> {
        if self.is_finished {
            return Ok(());
        }
        self.is_finished = true;
        // The metadata in the file list the file itself; those of the folder, only once it is finished.
        let mut folder = self.folder.clone();
        if let Some(own) = folder.files.back_mut() {
            *own = Arc::new(OnceLock::from(self.written.clone()));
        }
        let (name, key) = METADATA;
        let values = [(key.to_owned(), folder.metadata().record_text())].into();
        self.file.add_metadata(&Metadata { name: name.to_owned(), values })?;
        self.file.finish()?;
        if let Some(place) = self.folder.files.back() {
            // It is set only here.
            _ = place.set(self.written.clone());
        }
        Ok(())
    }
}

impl WrittenFile {
    /// The position of a channel's topic, which is added if it is new.
    fn topic(&mut self, channel: &Channel) -> usize {
        self.topics.iter().position(|topic| topic.name == channel.topic).unwrap_or_else(|| {
            self.topics.push(TopicInfo::of(channel, 0));
            self.topics.len() - 1
        })
    }
}

impl Contents {
    /// The metadata with all files that are finished.
    pub(super) fn metadata(&self) -> BagMetadata {
        let files = || self.files.iter().filter_map(|file| file.get());
        let with_messages = || files().map(|file| &file.info).filter(|info| info.message_count > 0);
        let start = with_messages().map(|info| info.start).min().unwrap_or(0);
        let end = with_messages().map(|info| info.start + info.duration).max().unwrap_or(0);
        BagMetadata {
            version: 9,
            storage: "mcap".to_owned(),
            start,
            duration: end - start,
            message_count: files().map(|file| file.info.message_count).sum(),
            topics: TopicInfo::each_once(files().flat_map(|file| file.topics.iter().cloned())),
            files: files().map(|file| file.info.clone()).collect(),
            custom_data: self.custom_data.clone(),
            ros_distro: self.ros_distro.clone(),
            ..BagMetadata::default()
        }
    }
}
