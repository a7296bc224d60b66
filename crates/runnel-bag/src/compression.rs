//! Compression of chunks.

use std::cmp::Ordering;
use std::io::{self, ErrorKind, Read, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use crate::limits::longest_decompressed;

/// Level of zstd: the fastest that is not weaker than LZ4.
#[cfg(feature = "zstd")]
const ZSTD_LEVEL: i32 = 1;

/// Compression of the chunks of a bag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed.
    #[default]
    None,
    /// bzip2: small and slow.
    Bz2,
    /// LZ4 frames: fast.
    Lz4,
    /// Zstandard, which rosbag does not have: smaller than LZ4 at a similar speed. Needs feature `zstd`.
    Zstd,
}

impl Compression {
    const ALL: [Self; 4] = [Self::None, Self::Bz2, Self::Lz4, Self::Zstd];

    /// The name, as in `rosbag info`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bz2 => "bz2",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The compression of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compression| compression.name() == name)
    }

    pub(crate) fn compress(self, data: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(data.to_vec()),
            Self::Bz2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
                encoder.write_all(data)?;
                encoder.finish()
            }
            Self::Lz4 => {
                let mut encoder = FrameEncoder::with_frame_info(roslz4_frame(), Vec::new());
                encoder.write_all(data)?;
                Ok(encoder.finish()?)
            }
            Self::Zstd => zstd_compress(data),
        }
    }

    /// Appends `size` decompressed bytes to the output. After an error the output holds what precedes the damage. It
    /// grows with the actual data, so a false size costs no memory.
    pub(crate) fn decompress(self, input: impl Read, size: u64, output: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::None => read_exactly(input, size, output),
            Self::Bz2 => read_exactly(bzip2::read::BzDecoder::new(input), size, output),
            Self::Lz4 => read_exactly(FrameDecoder::new(input), size, output),
            Self::Zstd => read_exactly(zstd_decoder(input)?, size, output),
        }
    }
}

/// Longest message that is decompressed, in bytes.
const LONGEST_MESSAGE: u64 = 2 << 30;

/// Decompresses a message of a bag whose messages are compressed by zstd.
pub(crate) fn decompress_message(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    let longest = longest_decompressed(data.len() as u64).min(LONGEST_MESSAGE);
    zstd_decoder(data)?.take(longest + 1).read_to_end(&mut message)?;
    if message.len() as u64 > longest {
        let reason = "a message is longer than 2 GiB or 1024 times its compressed data";
        return Err(io::Error::new(ErrorKind::InvalidData, reason));
    }
    Ok(message)
}

#[cfg(feature = "zstd")]
fn zstd_compress(data: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(data, ZSTD_LEVEL)
}

#[cfg(feature = "zstd")]
fn zstd_decoder<R: Read>(input: R) -> io::Result<impl Read> {
    zstd::Decoder::new(input)
}

#[cfg(not(feature = "zstd"))]
fn zstd_compress(_data: &[u8]) -> io::Result<Vec<u8>> {
    Err(without_zstd())
}

#[cfg(not(feature = "zstd"))]
fn zstd_decoder<R: Read>(_input: R) -> io::Result<R> {
    Err(without_zstd())
}

#[cfg(not(feature = "zstd"))]
fn without_zstd() -> io::Error {
    io::Error::new(ErrorKind::Unsupported, "this program was built without feature zstd")
}

/// The only frames that rosbag's library `roslz4` reads.
fn roslz4_frame() -> FrameInfo {
    FrameInfo::new()
        .block_size(BlockSize::Max1MB)
        .block_mode(BlockMode::Independent)
        .content_checksum(true)
        .block_checksums(false)
}

/// Also reads the end of the input, where the decoders compare checksums.
fn read_exactly(input: impl Read, size: u64, output: &mut Vec<u8>) -> io::Result<()> {
    let wanted = output.len().saturating_add(size as usize);
    input.take(size.saturating_add(1)).read_to_end(output)?;
    match output.len().cmp(&wanted) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(io::Error::new(ErrorKind::UnexpectedEof, "it is shorter than its header says")),
        Ordering::Greater => {
            output.truncate(wanted);
            Err(io::Error::new(ErrorKind::InvalidData, "it is longer than its header says"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"to be or not to be, or to be or not to be";

    fn available() -> impl Iterator<Item = Compression> {
        let is_available =
            |compression: &Compression| cfg!(feature = "zstd") || *compression != Compression::Zstd;
        Compression::ALL.into_iter().filter(is_available)
    }

    fn compressed(compression: Compression) -> Vec<u8> {
        compression.compress(TEXT).unwrap()
    }

    #[test]
    fn compressed_data_are_restored() {
        for compression in available() {
            let mut output = Vec::new();
            compression.decompress(&compressed(compression)[..], TEXT.len() as u64, &mut output).unwrap();
            assert_eq!(output, TEXT, "{}", compression.name());
        }
    }

    #[test]
    fn false_size_is_an_error() {
        for compression in available() {
            for wrong in [TEXT.len() as u64 - 1, TEXT.len() as u64 + 1, u64::MAX] {
                let mut output = Vec::new();
                compression.decompress(&compressed(compression)[..], wrong, &mut output).unwrap_err();
                assert!(TEXT.starts_with(&output));
            }
        }
    }

    #[test]
    fn damaged_checksum_is_an_error() {
        for compression in [Compression::Bz2, Compression::Lz4] {
            let mut bytes = compressed(compression);
            *bytes.last_mut().unwrap() ^= 0x10;
            compression.decompress(&bytes[..], TEXT.len() as u64, &mut Vec::new()).unwrap_err();
        }
    }
}
