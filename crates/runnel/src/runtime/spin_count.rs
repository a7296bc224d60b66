//! Number of executors that spin, of which the last closes the nodes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// See the module's documentation. Nodes that are closed while another executor still runs one of its callbacks could
/// not publish their last messages.
#[derive(Default)]
pub(crate) struct SpinCount {
    spinning: AtomicUsize,
    /// True while the last one closes the nodes.
    is_closing: AtomicBool,
}

impl SpinCount {
    /// Counts an executor until the value is dropped, also by a panic.
    pub(crate) fn begin(&self) -> Spinning<'_> {
        self.spinning.fetch_add(1, Ordering::SeqCst);
        Spinning(Some(self))
    }
}

/// An executor that spins.
pub(crate) struct Spinning<'a>(Option<&'a SpinCount>);

impl Spinning<'_> {
    /// Ends the spin, and calls `close` if no other executor spins and none already closes.
    pub(crate) fn end(mut self, close: impl FnOnce()) {
        let Some(count) = self.0.take() else { return };
        let is_last = count.spinning.fetch_sub(1, Ordering::SeqCst) == 1;
        if is_last && !count.is_closing.swap(true, Ordering::SeqCst) {
            let _closing = Closing(&count.is_closing);
            close();
        }
    }
}

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.spinning.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Resets the flag, also after a user's shutdown callback that panics.
struct Closing<'a>(&'a AtomicBool);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_last_executor_closes() {
        let count = SpinCount::default();
        let (first, second, panicked) = (count.begin(), count.begin(), count.begin());
        drop(panicked);
        first.end(|| panic!("the second still spins"));
        let mut has_closed = false;
        second.end(|| {
            count.begin().end(|| panic!("another executor closes"));
            has_closed = true;
        });
        assert!(has_closed);
    }
}
