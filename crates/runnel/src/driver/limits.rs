//! How much one source may take before others get their turn.

/// Connections that are accepted from one listener at once.
pub(super) const ACCEPT_BATCH: usize = 64;

/// Bytes that are read from a socket at once.
pub(super) const SCRATCH: usize = 64 * 1024;
