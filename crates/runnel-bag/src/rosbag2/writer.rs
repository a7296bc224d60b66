//! Writer of folders with MCAP files.

use super::CUSTOM_DATA;
use super::folder_writer::{Folder, FolderWriter};
use super::written_file::FileWriter;
use crate::disk::Disk;
use crate::mcap::Profile;
use crate::{Attachment, BagWriter, Channel, ChannelId, Compression, Error, Metadata, NewMessage};

/// A folder in progress, as one bag with the same channels in all files. `metadata.yaml` is written at each split and at
/// the end: without it, readers take the files as they are.
pub struct Writer<F: Folder> {
    folder: FolderWriter<F>,
    file: FileWriter<F::Disk>,
    settings: Settings,
    channels: Vec<Channel>,
    /// Log time of the first message of the file in progress.
    file_start: Option<u64>,
    /// Length of the finished files, in bytes.
    finished_len: u64,
    is_finished: bool,
}

/// When a folder begins its next file by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitLimits {
    /// From this length of a file on, in bytes.
    pub len: Option<u64>,
    /// With the first message that is later than the first one of its file by more than this, in nanoseconds.
    pub duration: Option<u64>,
}

/// How each file is written.
#[derive(Clone, Copy, Default)]
struct Settings {
    profile: Profile,
    compression: Compression,
    #[cfg(feature = "files")]
    compression_threads: Option<usize>,
    chunk_len: Option<u64>,
    limits: SplitLimits,
}

impl<F: Folder> Writer<F> {
    /// Begins a bag of this name, recorded on this distribution of ROS 2.
    ///
    /// # Errors
    /// Those of the folder.
    pub fn new(folder: F, name: &str, profile: Profile, ros_distro: &str) -> Result<Self, Error> {
        let mut folder = FolderWriter::new(folder, name, ros_distro);
        let file = folder.begin_file(profile)?;
        let settings = Settings { profile, ..Settings::default() };
        let channels = Vec::new();
        Ok(Self { folder, file, settings, channels, file_start: None, finished_len: 0, is_finished: false })
    }

    /// Adds a text to the field `custom_data` of the metadata. The files that are finished lack it.
    pub fn add_custom_data(&mut self, key: &str, value: &str) {
        self.folder.add_custom_data(key, value);
        self.file.add_custom_data(key, value);
    }

    /// Begins the next file by itself at these limits. Each file has at least one message.
    pub fn set_split_limits(&mut self, limits: SplitLimits) {
        self.settings.limits = limits;
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
        if self.is_finished {
            return Err(Error::Finished);
        }
        self.finish_file()?;
        let mut file = self.folder.begin_file(self.settings.profile)?;
        self.settings.apply(&mut file)?;
        for channel in &self.channels {
            file.add_channel(channel)?;
        }
        self.file = file;
        self.file_start = None;
        Ok(())
    }

    /// The folder.
    pub fn into_folder(self) -> F {
        self.folder.into_folder()
    }

    /// Whether a message of this log time belongs into the next file.
    fn is_full(&self, log_time: u64) -> bool {
        let SplitLimits { len, duration } = self.settings.limits;
        self.file_start.is_some_and(|start| {
            len.is_some_and(|len| self.file.file_len() >= len)
                || duration.is_some_and(|duration| log_time.saturating_sub(start) > duration)
        })
    }

    fn finish_file(&mut self) -> Result<(), Error> {
        self.file.finish()?;
        self.finished_len += self.file.file_len();
        self.folder.write_metadata()
    }
}

impl Settings {
    fn apply<D: Disk>(self, file: &mut FileWriter<D>) -> Result<(), Error> {
        file.set_compression(self.compression)?;
        #[cfg(feature = "files")]
        if let Some(threads) = self.compression_threads {
            file.set_compression_threads(threads)?;
        }
        if let Some(bytes) = self.chunk_len {
            file.set_chunk_len(bytes);
        }
        Ok(())
    }
}

impl<F: Folder> BagWriter for Writer<F> {
    fn set_compression(&mut self, compression: Compression) -> Result<(), Error> {
        self.file.set_compression(compression)?;
        self.settings.compression = compression;
        Ok(())
    }

    #[cfg(feature = "files")]
    fn set_compression_threads(&mut self, threads: usize) -> Result<(), Error> {
        self.file.set_compression_threads(threads)?;
        self.settings.compression_threads = Some(threads);
        Ok(())
    }

    fn set_chunk_len(&mut self, bytes: u64) {
        self.file.set_chunk_len(bytes);
        self.settings.chunk_len = Some(bytes);
    }

    fn add_channel(&mut self, channel: &Channel) -> Result<ChannelId, Error> {
        let id = self.file.add_channel(channel)?;
        self.channels.push(channel.clone());
        Ok(id)
    }

    fn write(&mut self, message: &NewMessage<'_>) -> Result<(), Error> {
        if self.is_full(message.log_time) {
            self.split()?;
        }
        self.file.write(message)?;
        self.file_start.get_or_insert(message.log_time);
        Ok(())
    }

    /// [`CUSTOM_DATA`] go into the field `custom_data`. Values that it has already stay.
    fn add_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        if metadata.name != CUSTOM_DATA {
            return self.file.add_metadata(metadata);
        }
        for (key, value) in &metadata.values {
            if !self.folder.has_custom_data(key) {
                self.add_custom_data(key, value);
            }
        }
        Ok(true)
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
