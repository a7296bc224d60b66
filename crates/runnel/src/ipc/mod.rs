//! The same-host link: how two processes of one host hand each other messages in shared memory.
//!
//! Every word of it has one writer: a process writes in memory of its own alone and reads that of its peer. So no process
//! can alter what another wrote, and a position that cannot be was falsified by its own writer. The algorithms are
//! here, over words wherever they lie ([`cells`]); mapping the memory and waking the peer are done by others.

pub(crate) mod awake;
pub(crate) mod cells;
pub(crate) mod returns;
pub(crate) mod ring;

#[cfg(test)]
mod tests;

use std::fmt;

/// The peer told a position that cannot be: before one that it told earlier, or ahead of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Falsified;

impl fmt::Display for Falsified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("told a position in shared memory that cannot be")
    }
}
