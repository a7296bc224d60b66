//! Arguments of compression that `ros2 bag record` has as well.

use std::thread;

use clap::ValueEnum;

use super::COMPRESSION;
use crate::bag::storage::ChunkCompression;
use crate::error::CliError;

/// Most threads that can be requested.
const MOST_THREADS: usize = 64;

/// Compression as `ros2 bag record` requests it.
#[derive(Debug, Default, clap::Args)]
pub struct CompressionArgs {
    /// Compress with --compression-format: in either mode each chunk, so that every reader of MCAP reads the file
    #[arg(long, value_name = "MODE", help_heading = COMPRESSION)]
    pub compression_mode: Option<CompressionMode>,

    /// Compression with --compression-mode [default: zstd]
    #[arg(long, value_name = "NAME", help_heading = COMPRESSION)]
    pub compression_format: Option<CompressionFormat>,

    /// Compress as this profile of ros2 bag: the last two with Zstandard
    #[arg(long, value_name = "PROFILE", help_heading = COMPRESSION)]
    pub storage_preset_profile: Option<PresetProfile>,

    /// Threads that compress, 0 for one on each core [default: 1]
    #[arg(long, value_name = "N", value_parser = threads, help_heading = COMPRESSION)]
    pub compression_threads: Option<usize>,
}

/// What `ros2 bag` compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompressionMode {
    None,
    File,
    Message,
}

/// How `ros2 bag` compresses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompressionFormat {
    Zstd,
}

/// Settings of the MCAP files of `ros2 bag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum PresetProfile {
    None,
    Fastwrite,
    ZstdFast,
    ZstdSmall,
}

/// A number of threads; 0 is one on each core.
fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Ok(thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)),
        Ok(threads @ 1..=MOST_THREADS) => Ok(threads),
        _ => Err(format!("expected a number from 0 to {MOST_THREADS}")),
    }
}

impl CompressionArgs {
    /// The requested compression of chunks, if one is requested.
    ///
    /// # Errors
    /// When a format is given without a mode.
    pub fn requested(&self) -> Result<Option<ChunkCompression>, CliError> {
        if self.compression_format.is_some() && !self.has_mode() {
            let why = "--compression-format has no meaning without a mode. Try: --compression-mode file";
            return Err(CliError::Usage(why.into()));
        }
        let is_zstd_profile =
            matches!(self.storage_preset_profile, Some(PresetProfile::ZstdFast | PresetProfile::ZstdSmall));
        Ok((self.has_mode() || is_zstd_profile).then_some(ChunkCompression::Zstd))
    }

    /// Threads that compress.
    pub fn threads(&self) -> usize {
        self.compression_threads.unwrap_or(1)
    }

    /// What the options mean here.
    pub fn notes(&self) -> impl Iterator<Item = &'static str> {
        let of_mode =
            "each chunk is compressed, not the whole file or each message: every reader of MCAP reads it";
        let of_profile = match self.storage_preset_profile {
            Some(PresetProfile::Fastwrite) => Some(
                "--storage-preset-profile fastwrite changes nothing: files are written fast, with checksums",
            ),
            Some(PresetProfile::ZstdSmall) => Some(
                "--storage-preset-profile zstd_small compresses as zstd_fast: Zstandard has one level here",
            ),
            _ => None,
        };
        self.has_mode().then_some(of_mode).into_iter().chain(of_profile)
    }

    /// Whether files or messages are to be compressed.
    fn has_mode(&self) -> bool {
        matches!(self.compression_mode, Some(CompressionMode::File | CompressionMode::Message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_a_limit_and_0_is_one_on_each_core() {
        assert_eq!(["1", "64"].map(threads), [Ok(1), Ok(64)]);
        assert!(threads("0").is_ok_and(|threads| (1..=MOST_THREADS).contains(&threads)));
        for text in ["65", "-1", "x", ""] {
            assert_eq!(threads(text), Err("expected a number from 0 to 64".to_owned()), "{text}");
        }
    }
}
