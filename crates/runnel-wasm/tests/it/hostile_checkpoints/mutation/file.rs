//! The file of a checkpoint, taken apart.

use sha2::{Digest, Sha256};

/// Bytes of a page of memory.
pub const PAGE: usize = 64 << 10;

/// Bytes before the state: eight that are the same in each file, the version, and the module's hash.
const HEAD: usize = 8 + 4 + 32;

/// What a file ends with: in place of the number of a page, and the checksum.
const END: [u8; 4] = [0xff; 4];
const SUM: usize = 32;

/// The parts of a file, which are written with a checksum that is correct.
#[derive(Clone)]
pub struct CheckpointFile {
    head: Vec<u8>,
    pub state: Vec<u8>,
    /// Pages of the memory.
    pub pages: u32,
    /// The pages that are not zero throughout, by their numbers.
    pub content: Vec<(u32, Vec<u8>)>,
}

impl CheckpointFile {
    /// Takes the file of a node apart.
    pub fn read(file: &[u8]) -> Self {
        let (head, rest) = file.split_at(HEAD);
        let (length, rest) = rest.split_at(8);
        let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
        let (state, rest) = rest.split_at(usize::try_from(length).expect("a length"));
        let (pages, mut rest) = (word(rest), &rest[4..rest.len() - SUM]);
        let mut content = Vec::new();
        while *rest != END {
            let (page, later) = rest[8..].split_at(word(&rest[4..]) as usize);
            content.push((word(rest), lz4_flex::block::decompress(page, PAGE).expect("a page")));
            rest = later;
        }
        Self { head: head.to_vec(), state: state.to_vec(), pages, content }
    }

    pub fn write(&self) -> Vec<u8> {
        let mut after_head = Vec::new();
        after_head.extend((self.state.len() as u64).to_le_bytes());
        after_head.extend(&self.state);
        after_head.extend(self.pages.to_le_bytes());
        for (number, page) in &self.content {
            let block = lz4_flex::block::compress(page);
            after_head.extend(number.to_le_bytes());
            after_head.extend((block.len() as u32).to_le_bytes());
            after_head.extend(block);
        }
        after_head.extend(END);
        self.with(&after_head)
    }

    /// A file of the same module with any bytes after its hash.
    pub fn with(&self, after_head: &[u8]) -> Vec<u8> {
        let mut file = [&self.head, after_head].concat();
        let sum = Sha256::digest(&file);
        file.extend(sum);
        file
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}
