//! Where the bags of a recording come from.

use std::path::PathBuf;

use runnel_bag::{BagWriter, Channel, Error};
pub use runnel_io::files::Space;

use crate::error::CliError;

/// Makes the bags of a recording, one after another.
pub trait Bags: Send {
    /// Begins a bag. These are the channels of the recording so far.
    ///
    /// # Errors
    /// When it cannot be created.
    fn begin(&mut self, channels: &[Channel]) -> Result<Box<dyn BagWriter + Send>, CliError>;

    /// The bag that was begun last is complete.
    ///
    /// # Errors
    /// When it cannot get its name, or an old bag that is kept no longer cannot be removed.
    fn complete(&mut self, written: Written) -> Result<(), CliError>;

    /// The bag that was begun last stays as it is: the disk is full.
    fn abandon(&mut self, written: Written);

    /// Removes the oldest bag that is not written any more. `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove_oldest(&mut self) -> Result<Option<Removed>, CliError>;

    /// Space on the disk of the bags, if it is known.
    fn space(&self) -> Option<Space>;

    /// The recording is complete.
    ///
    /// # Errors
    /// When its last files cannot be written.
    fn finish(&mut self) -> Result<(), CliError> {
        Ok(())
    }

    /// The error of the bag that was begun last, with its name.
    fn failed(&self, error: &Error) -> CliError;

    /// The files of all bags that are kept, in their order.
    fn files(&self) -> Vec<PathBuf>;
}

/// A complete bag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Its length in bytes.
    pub len: u64,
    /// Log time of its last message, in nanoseconds since 1970; 0 without messages.
    pub end: u64,
}

/// A bag that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its file.
    pub file: PathBuf,
    /// Its length in bytes.
    pub len: u64,
}
