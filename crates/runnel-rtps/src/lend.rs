//! Samples as writers hold them.

use alloc::sync::Arc;

/// Memory of a sample that its owner lends: cheap to clone, and the bytes stay as they are.
pub trait Lend: Clone {
    /// The payload, encapsulation header first.
    fn bytes(&self) -> &[u8];
}

impl Lend for Arc<[u8]> {
    fn bytes(&self) -> &[u8] {
        self
    }
}
