//! Processors for which the crate `io-uring` has no bindings.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::engine::Engine;

/// No ring.
pub(super) struct Ring;

impl Ring {
    /// Refused.
    ///
    /// # Errors
    /// Always.
    pub(super) fn open(_file: Arc<OwnedFd>, _block: usize, _writes: usize) -> io::Result<Box<dyn Engine>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "not built for this processor"))
    }
}
