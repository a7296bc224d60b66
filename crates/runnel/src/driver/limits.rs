//! Limits of one source's share of an iteration.

/// Connections accepted from one listener at a time.
pub(super) const ACCEPT_BATCH: usize = 64;

/// Bytes read from a socket at a time.
pub(super) const SCRATCH: usize = 64 * 1024;
