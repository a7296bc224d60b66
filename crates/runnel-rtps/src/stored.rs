//! What writers hold: samples of the user's, and announcements of ours.

use crate::datagram::Bytes;
use alloc::sync::Arc;

/// Memory of a sample that its owner lends: cheap to clone, and the bytes stay as they are.
pub trait Lend: Clone {
    /// The payload, encapsulation header first.
    fn payload(&self) -> &[u8];
}

impl Lend for Arc<[u8]> {
    fn payload(&self) -> &[u8] {
        self
    }
}

/// What writers hold.
#[derive(Clone, Debug)]
pub(crate) enum Stored<P> {
    User(P),
    Own(Arc<[u8]>),
}

impl<P: Lend> Bytes for Stored<P> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::User(sample) => sample.payload(),
            Self::Own(bytes) => bytes,
        }
    }
}

impl<P> Stored<P> {
    /// The user's sample, if it is one.
    pub fn user(self) -> Option<P> {
        match self {
            Self::User(sample) => Some(sample),
            Self::Own(_) => None,
        }
    }
}
