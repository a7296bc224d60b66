//! Why a recording has ended by itself.

use std::io::ErrorKind;

use runnel_bag::Error;

use crate::error::CliError;

/// Why a recording has ended by itself.
#[derive(Debug)]
pub enum End {
    /// A limit was reached.
    Limit,
    /// A message cannot be stored in the bag, which is sound.
    Refused(CliError),
    /// A bag cannot be written.
    Failed(CliError),
}

/// Whether the disk failed, so that the bag cannot be continued.
pub fn is_of_disk(error: &Error) -> bool {
    io_kind(error).is_some()
}

/// Whether the disk is full, or the user's part of it.
pub fn is_disk_full(error: &Error) -> bool {
    matches!(io_kind(error), Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

fn io_kind(error: &Error) -> Option<ErrorKind> {
    match error {
        Error::Io(error) => Some(error.kind()),
        Error::InFile { source, .. } => io_kind(source),
        _ => None,
    }
}
