//! A message as its bytes, at whoever reads it.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use super::LENGTH;
use super::subscription::{LinkInfo, Queue};
use crate::ipc::{Frame, Lent};
use crate::sync::lock;

/// See the module's documentation.
pub(crate) enum Received {
    /// In memory of the subscription's, which is used again.
    Own(Vec<u8>),
    /// In memory of another process.
    Lent(Lent),
    /// Where a publisher of this process wrote it, with its length before it.
    Frame(Frame),
}

impl Deref for Received {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Lent(lent) => lent,
            Self::Frame(frame) => frame.as_ref().get(LENGTH..).unwrap_or(&[]),
        }
    }
}

impl Default for Received {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

/// A message that outlives its callback. Its memory goes back to whoever's it is when it is dropped.
pub(crate) struct Kept {
    message: Received,
    from: Arc<LinkInfo>,
    /// Of the subscription, whose buffer it may lie in.
    queue: Arc<Mutex<Queue>>,
}

impl Kept {
    /// Takes the message away from a callback's delivery.
    pub(crate) fn take(message: &mut Received, from: &Arc<LinkInfo>, queue: &Arc<Mutex<Queue>>) -> Self {
        Self { message: std::mem::take(message), from: Arc::clone(from), queue: Arc::clone(queue) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.message
    }

    pub(crate) fn from(&self) -> &LinkInfo {
        &self.from
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Received::Own(bytes) = std::mem::take(&mut self.message) {
            lock(&self.queue).give_back(bytes);
        }
    }
}
