//! Number of events of one kind that a peer can cause at will. The log gets only those whose number is a power of two.

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Occurrences(u64);

impl Occurrences {
    /// Counts an event. Returns their number if it is to be logged.
    pub(super) fn note(&mut self) -> Option<u64> {
        self.0 += 1;
        self.0.is_power_of_two().then_some(self.0)
    }
}
