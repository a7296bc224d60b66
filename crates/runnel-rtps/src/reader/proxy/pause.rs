//! Pause of a pair that an alternate path carries: its reliable samples are held and not acknowledged.

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pause {
    /// RTPS carries the pair.
    #[default]
    Running,
    /// An alternate path carries it.
    Paused,
    /// As `Paused`, and since then the writer has addressed a HEARTBEAT to only this reader.
    Addressed,
}

impl Pause {
    pub fn new(is_paused: bool) -> Self {
        if is_paused { Self::Paused } else { Self::Running }
    }

    pub fn is_paused(self) -> bool {
        self != Self::Running
    }

    /// Records a HEARTBEAT that is addressed to only this reader.
    pub fn note_own_heartbeat(&mut self) {
        if *self == Self::Paused {
            *self = Self::Addressed;
        }
    }
}
