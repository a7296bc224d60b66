//! Limits on the state that a peer can make this end keep, and on the numbers that it accepts.

/// Greatest message number: the greatest RTPS sequence number.
pub const MAX_NUMBER: u64 = i64::MAX as u64;

/// Maximum number of paths at one end of a pair, including paths that are down and not yet replaced.
pub const MAX_PATHS: usize = 16;

/// Maximum number of segments (changes of path) that a receiver remembers.
pub const MAX_SEGMENTS: usize = 16;

/// Maximum distance of a new epoch from the greatest known one.
pub const MAX_EPOCH_LEAP: u32 = 1 << 20;

/// Maximum distance of a message number from the position of its path.
pub const MAX_NUMBER_LEAP: u64 = 1 << 40;

/// Capacity of a receiver during a change of path. Both ends of a pair use the same limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Credit {
    /// Maximum number of messages beyond the next one due.
    pub messages: u32,
    /// Maximum bytes of messages from paths that keep order, and as many again from paths that do not.
    pub bytes: usize,
}

impl Credit {
    /// 1000 messages, 16 MiB.
    pub const DEFAULT: Self = Self { messages: 1000, bytes: 16 << 20 };
}

impl Default for Credit {
    fn default() -> Self {
        Self::DEFAULT
    }
}
