//! Ownership of an entity of the host.

use crate::abi::Handle;
use crate::event_loop::{self, Callback, Source};
use crate::host;

/// An entity of the host, which is destroyed with this.
#[derive(Debug)]
pub(crate) struct Entity(Handle);

impl Entity {
    pub(crate) fn new(handle: Handle) -> Self {
        Self(handle)
    }

    /// An entity whose events run a callback.
    pub(crate) fn with_callback(handle: Handle, callback: Callback) -> Self {
        event_loop::add(Source::Entity(handle), callback);
        Self(handle)
    }

    /// A subscription, for whose callback at most `depth` messages wait.
    pub(crate) fn subscription(handle: Handle, callback: Callback, depth: usize) -> Self {
        event_loop::add_with_depth(Source::Entity(handle), callback, depth);
        Self(handle)
    }

    pub(crate) fn handle(&self) -> Handle {
        self.0
    }
}

impl Drop for Entity {
    fn drop(&mut self) {
        event_loop::remove(Source::Entity(self.0));
        host::close(self.0);
    }
}
