//! Result of a request to switch a link or a pair to shared memory.

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwitchOutcome {
    /// It uses shared memory now.
    Switched,
    /// There is nothing to switch: it has ended, or uses shared memory already.
    NotNeeded,
    /// It is not possible yet. The driver is woken when it is.
    Later,
}
