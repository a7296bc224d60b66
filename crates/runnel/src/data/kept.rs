//! Messages that outlive their callback.

use std::sync::Arc;

use runnel_core::wire::Bytes;

use super::received::Received;
use super::sample_info::SampleInfo;
use super::subscription::{LinkInfo, Queue};
use crate::sync::{Mutex, lock};

/// A message that outlives its callback. Dropping it returns its memory to the owner.
pub(crate) struct Kept {
    message: Received,
    from: Arc<LinkInfo>,
    info: SampleInfo,
    /// The queue of the subscription, which may own the message's buffer.
    queue: Arc<Mutex<Queue>>,
}

impl Kept {
    /// Takes the message out of a callback's delivery.
    pub(crate) fn take(
        message: &mut Received,
        (from, info): (&Arc<LinkInfo>, SampleInfo),
        queue: &Arc<Mutex<Queue>>,
    ) -> Self {
        Self { message: std::mem::take(message), from: Arc::clone(from), info, queue: Arc::clone(queue) }
    }

    pub(crate) fn bytes(&self) -> Bytes<'_> {
        self.message.bytes()
    }

    pub(crate) fn from(&self) -> &Arc<LinkInfo> {
        &self.from
    }

    pub(crate) fn info(&self) -> SampleInfo {
        self.info
    }

    /// Whether a publisher of this process wrote it.
    pub(crate) fn is_intra_process(&self) -> bool {
        self.message.is_intra_process()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Received::Own(bytes) = std::mem::take(&mut self.message) {
            lock(&self.queue).recycle(bytes);
        }
    }
}
