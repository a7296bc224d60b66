//! The bytes of a checkpoint.
//!
//! Eight bytes that are the same in each file, the version in four, the module's hash in 32; the length of the state in
//! eight, and the state as `postcard` writes it; the number of pages of the memory in four; then, for each page of 64 KiB that
//! is not zero throughout, its number in four, a length in four, and the page compressed as one LZ4 block; four bytes `ff` in
//! place of a further number; the SHA-256 of all that. Numbers are little-endian.

use sha2::{Digest, Sha256};

use super::Checkpoint;
use super::image::{MemoryImage, Page};
use crate::bounded;
use crate::program::ModuleHash;

const MAGIC: &[u8; 8] = b"runnelck";
const VERSION: u32 = 2;
const END: u32 = u32::MAX;

/// Bytes of the state, at most.
const MOST_STATE: usize = 1 << 28;

/// Pages of the largest memory.
const MOST_PAGES: u32 = 1 << 16;

pub fn write(checkpoint: &Checkpoint) -> Result<Vec<u8>, String> {
    let mut file = MAGIC.to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend(checkpoint.module.0);
    let state = postcard::to_allocvec(&checkpoint.state).map_err(|error| error.to_string())?;
    file.extend((state.len() as u64).to_le_bytes());
    file.extend(state);
    file.extend(checkpoint.memory.pages.to_le_bytes());
    for Page { number, block } in &checkpoint.memory.content {
        file.extend(number.to_le_bytes());
        file.extend((block.len() as u32).to_le_bytes());
        file.extend(block);
    }
    file.extend(END.to_le_bytes());
    let sum = Sha256::digest(&file);
    file.extend(sum);
    Ok(file)
}

pub fn read(file: &[u8]) -> Result<Checkpoint, String> {
    if !file.starts_with(MAGIC) {
        return Err("it is no checkpoint".to_owned());
    }
    let mut rest = Rest(&file[MAGIC.len()..]);
    let version = rest.u32()?;
    if version != VERSION {
        return Err(format!("it has version {version} of the format, and this host reads {VERSION}"));
    }
    let (content, sum) = file.split_last_chunk::<32>().ok_or_else(damaged)?;
    if Sha256::digest(content).as_slice() != sum {
        return Err(damaged());
    }
    rest.0 = &rest.0[..rest.0.len().checked_sub(sum.len()).ok_or_else(damaged)?];
    let module = ModuleHash(rest.take(32)?.try_into().map_err(|_| damaged())?);
    let length =
        usize::try_from(rest.u64()?).ok().filter(|length| *length <= MOST_STATE).ok_or_else(damaged)?;
    let state = rest.take(length)?;
    let state = bounded::read(|| postcard::from_bytes(state));
    let state = state.map_err(|error| format!("it is damaged: {error}"))?;
    let memory = read_memory(&mut rest)?;
    if !rest.0.is_empty() {
        return Err(damaged());
    }
    Ok(Checkpoint { module, state, memory })
}

fn read_memory(rest: &mut Rest<'_>) -> Result<MemoryImage, String> {
    let pages = rest.u32()?;
    if pages > MOST_PAGES {
        return Err(damaged());
    }
    let mut content = Vec::new();
    loop {
        let number = rest.u32()?;
        if number == END {
            return Ok(MemoryImage { pages, content });
        }
        let length = rest.u32()? as usize;
        content.push(Page { number, block: rest.take(length)?.into() });
    }
}

fn damaged() -> String {
    "it is damaged".to_owned()
}

/// What is not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| damaged())?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| damaged())?))
    }
}
