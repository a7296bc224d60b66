//! Formats that are written, and their compression.

use std::path::Path;

use clap::ValueEnum;
use runnel_bag::{BagWriter, Compression, Error};

use crate::error::CliError;

/// A format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Storage {
    /// MCAP: messages of ROS 1 and ROS 2
    Mcap,
    /// rosbag 2.0: messages of ROS 1
    Rosbag,
}

/// Compression of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChunkCompression {
    /// None
    None,
    /// LZ4: fast
    Lz4,
    /// Zstandard, in MCAP: smaller
    Zstd,
    /// bzip2, in rosbag 2.0: small and slow
    Bz2,
}

/// How the chunks of a bag are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionSettings {
    pub compression: Compression,
    /// Threads that compress.
    pub threads: usize,
}

impl From<Compression> for CompressionSettings {
    /// One thread compresses.
    fn from(compression: Compression) -> Self {
        Self { compression, threads: 1 }
    }
}

impl CompressionSettings {
    /// Applies them to a bag.
    ///
    /// # Errors
    /// When the format does not have the compression, or a thread cannot be started.
    pub fn apply(self, bag: &mut dyn BagWriter) -> Result<(), Error> {
        bag.set_compression(self.compression)?;
        if self.compression != Compression::None {
            // The callbacks of a recorder do not wait for the compression.
            bag.set_compression_threads(self.threads)?;
        }
        Ok(())
    }
}

impl Storage {
    /// The extension of files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Mcap => "mcap",
            Self::Rosbag => "bag",
        }
    }

    /// The format of a file of this name, if its extension is that of a format.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        [Self::Mcap, Self::Rosbag].into_iter().find(|storage| storage.extension() == extension)
    }

    /// The format of a file that is written: the requested one, or that of its name, or MCAP.
    ///
    /// # Errors
    /// When both are known and differ.
    pub fn for_file(requested: Option<Self>, path: &Path) -> Result<Self, CliError> {
        match (requested, Self::of(path)) {
            (Some(requested), Some(named)) if requested != named => Err(CliError::Usage(format!(
                "{}: --storage requests another format than the name's extension. Try: a name with .{}",
                path.display(),
                requested.extension()
            ))),
            (requested, named) => Ok(requested.or(named).unwrap_or(Self::Mcap)),
        }
    }

    /// The compression in this format.
    ///
    /// # Errors
    /// When the format does not have it.
    pub fn compression(self, requested: ChunkCompression) -> Result<Compression, CliError> {
        match (self, requested) {
            (_, ChunkCompression::None) => Ok(Compression::None),
            (_, ChunkCompression::Lz4) => Ok(Compression::Lz4),
            (Self::Mcap, ChunkCompression::Zstd) => Ok(Compression::Zstd),
            (Self::Rosbag, ChunkCompression::Bz2) => Ok(Compression::Bz2),
            (Self::Rosbag, ChunkCompression::Zstd) => Err(CliError::Usage(
                "rosbag 2.0 has no zstd compression. Try: --lz4, or --storage mcap".into(),
            )),
            (Self::Mcap, ChunkCompression::Bz2) => {
                Err(CliError::Usage("MCAP has no bz2 compression. Try: --zstd, or --storage rosbag".into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use runnel_bag::{Channel, ChannelId, NewMessage};

    use super::*;

    /// A bag that only remembers its settings.
    #[derive(Default)]
    struct Settings {
        compression: Compression,
        threads: Option<usize>,
    }

    impl BagWriter for Settings {
        fn set_compression(&mut self, compression: Compression) -> Result<(), Error> {
            self.compression = compression;
            Ok(())
        }

        fn set_compression_threads(&mut self, threads: usize) -> Result<(), Error> {
            self.threads = Some(threads);
            Ok(())
        }

        fn set_chunk_len(&mut self, _bytes: u64) {}

        fn add_channel(&mut self, _channel: &Channel) -> Result<ChannelId, Error> {
            Err(Error::Finished)
        }

        fn write(&mut self, _message: &NewMessage<'_>) -> Result<(), Error> {
            Err(Error::Finished)
        }

        fn flush(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn sync(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn file_len(&self) -> u64 {
            0
        }

        fn finish(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }

    #[test]
    fn compressed_bag_gets_its_threads() {
        let applied = |settings: CompressionSettings| {
            let mut bag = Settings::default();
            settings.apply(&mut bag).expect("it has all");
            (bag.compression, bag.threads)
        };
        let none = CompressionSettings { compression: Compression::None, threads: 3 };
        assert_eq!(applied(none), (Compression::None, None));
        assert_eq!(applied(Compression::Lz4.into()), (Compression::Lz4, Some(1)));
        let zstd = CompressionSettings { compression: Compression::Zstd, ..none };
        assert_eq!(applied(zstd), (Compression::Zstd, Some(3)));
    }

    #[test]
    fn format_follows_the_name_or_the_option() {
        let of = |requested, name| Storage::for_file(requested, Path::new(name)).ok();
        assert_eq!(of(None, "a.bag"), Some(Storage::Rosbag));
        assert_eq!(of(None, "a.mcap"), Some(Storage::Mcap));
        assert_eq!(of(None, "a.b"), Some(Storage::Mcap));
        assert_eq!(of(Some(Storage::Rosbag), "a"), Some(Storage::Rosbag));
        assert_eq!(of(Some(Storage::Rosbag), "a.mcap"), None);
    }

    #[test]
    fn compression_of_the_other_format_is_refused() {
        assert!(Storage::Mcap.compression(ChunkCompression::Bz2).is_err());
        assert!(Storage::Rosbag.compression(ChunkCompression::Zstd).is_err());
        assert_eq!(Storage::Rosbag.compression(ChunkCompression::Bz2).ok(), Some(Compression::Bz2));
    }
}
