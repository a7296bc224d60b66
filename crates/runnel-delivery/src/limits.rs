//! Limits on what a peer can make this end keep or believe.

/// The greatest number of a message: the greatest RTPS sequence number.
pub const MAX_NUMBER: u64 = i64::MAX as u64;

/// Most paths that one end of a pair knows at a time, those included that are down and not yet replaced.
pub const MAX_PATHS: usize = 16;

/// Most changes of path of which a receiver still knows where they began.
pub const MAX_SEGMENTS: usize = 16;

/// How far beyond the greatest known epoch a new one may lie.
pub const MAX_EPOCH_LEAP: u32 = 1 << 20;

/// How far beyond a path's position a number on it may lie.
pub const MAX_NUMBER_LEAP: u64 = 1 << 40;

/// What a receiver may have to hold while a change of path is under way. Both ends of a pair use the same limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Credit {
    /// Most messages beyond the next one due.
    pub messages: u32,
    /// Most bytes of messages by paths that keep order, and as many again by paths that do not.
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
