//! Writer of folders with MCAP files.

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
    /// Length of the finished files, in bytes.
    finished_len: u64,
    is_finished: bool,
}

/// How each file is written.
#[derive(Clone, Copy, Default)]
struct Settings {
    profile: Profile,
    compression: Compression,
    #[cfg(feature = "files")]
    compression_threads: Option<usize>,
    chunk_len: Option<u64>,
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
        Ok(Self { folder, file, settings, channels: Vec::new(), finished_len: 0, is_finished: false })
    }

    /// Adds a text to the field `custom_data` of the metadata. The files that were begun before lack it.
    pub fn add_custom_data(&mut self, key: &str, value: &str) {
        self.folder.add_custom_data(key, value);
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
        Ok(())
    }

    /// The folder.
    pub fn into_folder(self) -> F {
        self.folder.into_folder()
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
        self.file.write(message)
    }

    fn add_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        self.file.add_metadata(metadata)
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
