//! Memory of samples, as writers hold it.

use alloc::sync::Arc;

/// Shared memory of a sample: cheap to clone, with constant bytes.
pub trait Lend: Clone {
    /// Returns the payload, encapsulation header first.
    fn bytes(&self) -> &[u8];
}

impl Lend for Arc<[u8]> {
    fn bytes(&self) -> &[u8] {
        self
    }
}
