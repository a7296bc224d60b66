//! Writer of folders with MCAP files.

use std::io;

use super::metadata::{BagMetadata, FileInfo, TopicInfo};
use super::offered_qos;
use crate::disk::Disk;
use crate::mcap::{self, Profile};
use crate::{BagWriter, Channel, ChannelId, Compression, Error, Metadata, NewMessage};

/// A folder that takes the files of a bag.
pub trait Folder {
    /// A file of the bag.
    type Disk: Disk;

    /// Creates an empty file of this name.
    ///
    /// # Errors
    /// Those of the file system.
    fn create(&mut self, name: &str) -> io::Result<Self::Disk>;

    /// Writes or replaces `metadata.yaml`.
    ///
    /// # Errors
    /// Those of the file system.
    fn write_metadata(&mut self, text: &str) -> io::Result<()>;
}

/// A folder in progress. `metadata.yaml` is written at each split and at the end: without it, readers take the files as
/// they are.
pub struct Writer<F: Folder> {
    folder: F,
    /// Name of the bag, with which the names of the files begin.
    name: String,
    profile: Profile,
    compression: Compression,
    file: mcap::Writer<F::Disk>,
    /// The file in progress.
    info: FileInfo,
    /// Log time of its latest message.
    end: u64,
    channels: Vec<Channel>,
    /// Number of messages of each channel.
    counts: Vec<u64>,
    metadata: BagMetadata,
    /// Length of the finished files, in bytes.
    finished_len: u64,
    is_finished: bool,
}

impl<F: Folder> Writer<F> {
    /// Begins a bag of this name, recorded on this distribution of ROS 2.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn new(mut folder: F, name: &str, profile: Profile, ros_distro: &str) -> Result<Self, Error> {
        let path = file_name(name, 0);
        let file = mcap::Writer::on_disk(folder.create(&path)?, profile)?;
        let metadata = BagMetadata {
            version: 9,
            storage: "mcap".to_owned(),
            ros_distro: ros_distro.to_owned(),
            ..BagMetadata::default()
        };
        Ok(Self {
            folder,
            name: name.to_owned(),
            profile,
            compression: Compression::None,
            file,
            info: FileInfo { path, ..FileInfo::default() },
            end: 0,
            channels: Vec::new(),
            counts: Vec::new(),
            metadata,
            finished_len: 0,
            is_finished: false,
        })
    }

    /// Sets the compression of the chunks to come.
    ///
    /// # Errors
    /// When MCAP does not have it.
    pub fn set_compression(&mut self, compression: Compression) -> Result<(), Error> {
        self.file.set_compression(compression)?;
        self.compression = compression;
        Ok(())
    }

    /// Adds a text to the field `custom_data` of the metadata.
    pub fn add_custom_data(&mut self, key: &str, value: &str) {
        self.metadata.custom_data.insert(key.to_owned(), value.to_owned());
    }

    /// Length of the file in progress, in bytes.
    pub fn split_len(&self) -> u64 {
        self.file.file_len()
    }

    /// Finishes the file and begins the next one, with the same channels.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn split(&mut self) -> Result<(), Error> {
        self.finish_file()?;
        let path = file_name(&self.name, self.metadata.files.len());
        let mut file = mcap::Writer::on_disk(self.folder.create(&path)?, self.profile)?;
        file.set_compression(self.compression)?;
        for channel in &self.channels {
            file.add_channel(channel)?;
        }
        self.file = file;
        self.info = FileInfo { path, ..FileInfo::default() };
        Ok(())
    }

    /// The folder.
    pub fn into_folder(self) -> F {
        self.folder
    }

    fn finish_file(&mut self) -> Result<(), Error> {
        if self.is_finished {
            return Err(Error::Finished);
        }
        self.metadata.files.push(self.info.clone());
        self.update_metadata();
        let text = self.metadata.to_string();
        let values = [("serialized_metadata".to_owned(), text.clone())].into();
        self.file.add_metadata(&Metadata { name: "rosbag2".to_owned(), values })?;
        self.file.finish()?;
        self.finished_len += self.file.file_len();
        Ok(self.folder.write_metadata(&text)?)
    }

    fn update_metadata(&mut self) {
        let with_messages = || self.metadata.files.iter().filter(|file| file.message_count > 0);
        let start = with_messages().map(|file| file.start).min().unwrap_or(0);
        let end = with_messages().map(|file| file.start + file.duration).max().unwrap_or(0);
        self.metadata.start = start;
        self.metadata.duration = end - start;
        self.metadata.message_count = self.counts.iter().sum();
        self.metadata.topics = topics(&self.channels, &self.counts);
    }
}

fn file_name(bag: &str, number: usize) -> String {
    format!("{bag}_{number}.mcap")
}

/// The topics, each once.
fn topics(channels: &[Channel], counts: &[u64]) -> Vec<TopicInfo> {
    let mut topics: Vec<TopicInfo> = Vec::new();
    for (channel, count) in channels.iter().zip(counts) {
        match topics.iter_mut().find(|topic| topic.name == channel.topic) {
            Some(topic) => topic.message_count += count,
            None => topics.push(TopicInfo {
                name: channel.topic.clone(),
                type_name: channel.type_name.clone(),
                serialization_format: channel.encoding.name().to_owned(),
                offered_qos: channel.offered_qos.clone(),
                type_hash: channel.type_hash.clone(),
                message_count: *count,
            }),
        }
    }
    topics
}

impl<F: Folder> BagWriter for Writer<F> {
    fn add_channel(&mut self, channel: &Channel) -> Result<ChannelId, Error> {
        let mut channel = channel.clone();
        // Version 9 has words, also in the files.
        if let Some(words) =
            channel.offered_qos.as_ref().and_then(|offered| offered_qos::in_words(offered, 0))
        {
            channel.offered_qos = Some(words);
        }
        let id = self.file.add_channel(&channel)?;
        self.channels.push(channel);
        self.counts.push(0);
        Ok(id)
    }

    fn write(&mut self, message: &NewMessage<'_>) -> Result<(), Error> {
        self.file.write(message)?;
        self.counts[message.channel.index()] += 1;
        if self.info.message_count == 0 {
            self.info.start = message.log_time;
            self.end = message.log_time;
        }
        self.info.start = self.info.start.min(message.log_time);
        self.end = self.end.max(message.log_time);
        self.info.duration = self.end - self.info.start;
        self.info.message_count += 1;
        Ok(())
    }

    fn add_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        self.file.add_metadata(metadata)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.file.flush()
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.file.sync()
    }

    fn file_len(&self) -> u64 {
        self.finished_len + if self.is_finished { 0 } else { self.file.file_len() }
    }

    /// Finishes the last file and writes `metadata.yaml`.
    fn finish(&mut self) -> Result<(), Error> {
        if self.is_finished {
            return Ok(());
        }
        self.finish_file()?;
        self.is_finished = true;
        Ok(())
    }
}
