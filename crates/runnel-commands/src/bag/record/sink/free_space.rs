//! Free space on the disk of the bags: what is kept free, and which bags go for it.

use super::bags::{Bags, Removed, Space};
use crate::bag::quantity::size;
use crate::error::CliError;

/// Space that is kept free on the disk, in what is written from one sync to the next, and at least.
const RESERVED_SYNCS: u64 = 4;
const LEAST_RESERVED: u64 = 128 << 20;

/// Of a small disk, one part in so many is kept free at most.
const LARGEST_RESERVED_PART: u64 = 8;

/// What is done when the disk is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DiskFull {
    /// The recording ends with an error
    #[default]
    Stop,
    /// The oldest complete bags are removed
    DropOldest,
}

/// What is kept free.
#[derive(Clone, Copy, Debug, Default)]
pub struct FreeSpace {
    /// What is done when the disk is full.
    pub disk_full: DiskFull,
    /// Bytes that stay free in any case.
    pub least: Option<u64>,
}

impl FreeSpace {
    /// Checks that as much is free as has to stay so.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self, bags: &dyn Bags) -> Result<(), CliError> {
        let Some(least) = self.least else { return Ok(()) };
        let Some(Space { free, .. }) = bags.space().filter(|space| space.free < least) else {
            return Ok(());
        };
        let [free, least] = [free, least].map(size);
        Err(CliError::Failed(format!(
            "the disk has {free} left, and --min-space is {least}: the recording ends. Try: a smaller --min-space, \
             --disk-full drop-oldest with --split, or --output-dir on another disk"
        )))
    }

    /// Removes the oldest bags before the disk is full, if that is what is done: for the bytes to come, which follow from
    /// those written since the last sync, and for so many more.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn reserve(&self, bags: &mut dyn Bags, unsynced: u64, more: u64) -> Result<(), CliError> {
        if self.disk_full == DiskFull::DropOldest {
            self.remove_oldest(bags, to_come(unsynced).saturating_add(more), 0)?;
        }
        Ok(())
    }

    /// Removes the oldest bags, at least this many, if that is what is done on a full disk. False if there are none.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn make(&self, bags: &mut dyn Bags, unsynced: u64, at_least: usize) -> Result<bool, CliError> {
        let drops = self.disk_full == DiskFull::DropOldest;
        Ok(drops && self.remove_oldest(bags, to_come(unsynced), at_least)? > 0)
    }

    /// Removes the oldest bags, at least this many, until so many bytes are free. Returns how many were removed.
    fn remove_oldest(&self, bags: &mut dyn Bags, bytes: u64, at_least: usize) -> Result<usize, CliError> {
        let Space { free, total } = bags.space().unwrap_or(Space { free: u64::MAX, total: u64::MAX });
        let wanted = bytes.min(total / LARGEST_RESERVED_PART).max(self.least.unwrap_or_default());
        // The system may take a while to free the space of a file.
        let (mut free, mut removed) = (free, 0);
        while free < wanted || removed < at_least {
            let Some(Removed { file, len }) = bags.remove_oldest()? else { break };
            log::warn!("{}: removed, since the disk is nearly full", file.display());
            free = free.saturating_add(len);
            // A file that was gone has freed nothing.
            removed += usize::from(len > 0);
        }
        Ok(removed)
    }
}

/// What should be free for the next messages, in bytes.
fn to_come(unsynced: u64) -> u64 {
    unsynced.saturating_mul(RESERVED_SYNCS).max(LEAST_RESERVED)
}
