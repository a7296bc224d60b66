//! Standing of a participant: how much of what it says is known to come from where it says that it is.

/// What a participant has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::participant) enum Standing {
    /// It has announced itself, which anybody can do in any name.
    Announced,
    /// It has named us, as any receiver of our multicast can. Its endpoints are matched; what it is sent is bounded by what
    /// it sends, and its readers get no samples yet.
    OnTrial,
    /// It was on trial for long, and acknowledged nothing. It is still heard, and is told of us when it announces itself.
    Demoted,
    /// It has acknowledged numbers that only a receiver of our datagrams can know.
    Proved,
}

impl Standing {
    /// True once it has named us.
    pub fn has_met(self) -> bool {
        self != Self::Announced
    }
}
