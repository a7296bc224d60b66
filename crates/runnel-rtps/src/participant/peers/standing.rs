//! Standing of a participant: how far its address is proved.

/// Standing of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::participant) enum Standing {
    /// It has announced itself, which can be forged.
    Announced,
    /// It has sent our prefix, which any receiver of our multicast knows. Its endpoints are matched; datagrams to it
    /// are limited by those from it, and its readers receive no samples yet.
    OnTrial,
    /// Its trial has ended without an acknowledgement. Its datagrams are handled, and it is sent our announcement when
    /// it announces itself.
    Demoted,
    /// It has acknowledged numbers that only a receiver of our datagrams can know.
    Proved,
}

impl Standing {
    /// Returns whether it has named our prefix.
    pub fn is_discovered(self) -> bool {
        self != Self::Announced
    }
}
