//! Compression of chunks.

use std::cmp::Ordering;
use std::io::{self, ErrorKind, Read, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

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
}

impl Compression {
    const ALL: [Self; 3] = [Self::None, Self::Bz2, Self::Lz4];

    /// The name in the header of a chunk and in `rosbag info`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bz2 => "bz2",
            Self::Lz4 => "lz4",
        }
    }

    /// The compression of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compression| compression.name() == name)
    }

    pub(crate) fn compress(self, data: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(data),
            Self::Bz2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
                encoder.write_all(&data)?;
                encoder.finish()
            }
            Self::Lz4 => {
                let mut encoder = FrameEncoder::with_frame_info(roslz4_frame(), Vec::new());
                encoder.write_all(&data)?;
                Ok(encoder.finish()?)
            }
        }
    }

    /// Appends `size` decompressed bytes to the output. After an error the output holds what precedes the damage. It
    /// grows with the actual data, so a false size costs no memory.
    pub(crate) fn decompress(self, input: impl Read, size: u32, output: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::None => read_exactly(input, size, output),
            Self::Bz2 => read_exactly(bzip2::read::BzDecoder::new(input), size, output),
            Self::Lz4 => read_exactly(FrameDecoder::new(input), size, output),
        }
    }
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
fn read_exactly(input: impl Read, size: u32, output: &mut Vec<u8>) -> io::Result<()> {
    let wanted = output.len() + size as usize;
    input.take(u64::from(size) + 1).read_to_end(output)?;
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

    fn compressed(compression: Compression) -> Vec<u8> {
        compression.compress(TEXT.to_vec()).unwrap()
    }

    #[test]
    fn compressed_data_are_restored() {
        for compression in Compression::ALL {
            let mut output = Vec::new();
            compression.decompress(&compressed(compression)[..], TEXT.len() as u32, &mut output).unwrap();
            assert_eq!(output, TEXT, "{}", compression.name());
        }
    }

    #[test]
    fn false_size_is_an_error() {
        for compression in Compression::ALL {
            for wrong in [TEXT.len() as u32 - 1, TEXT.len() as u32 + 1, u32::MAX] {
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
            compression.decompress(&bytes[..], TEXT.len() as u32, &mut Vec::new()).unwrap_err();
        }
    }
}
