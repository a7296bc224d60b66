//! The connection between the two hosts of a node that moves.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bounded;

/// Carries frames to the other host and back, each once and in order, until it breaks.
pub trait Channel: Send + Sync {
    /// Sends a frame.
    ///
    /// # Errors
    /// Why the channel is broken.
    fn send(&self, frame: Vec<u8>) -> Result<(), String>;

    /// The next frame; `None` if there is none in time.
    ///
    /// # Errors
    /// Why the channel is broken, after the frames that have arrived before.
    fn receive(&self, timeout: Duration) -> Result<Option<Vec<u8>>, String>;

    /// Sets what is called, from any thread, for each frame that arrives and when the channel breaks.
    fn set_on_received(&self, wake: Box<dyn Fn() + Send>);
}

/// A channel, as the threads of a host share it.
#[derive(Clone)]
pub struct SharedChannel(Arc<dyn Channel>);

impl SharedChannel {
    /// Of a channel.
    pub fn new(channel: impl Channel + 'static) -> Self {
        Self(Arc::new(channel))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Why the channel is broken.
    pub(super) fn send(&self, message: &impl Serialize) -> Result<(), String> {
        let frame = postcard::to_allocvec(message).map_err(|error| error.to_string())?;
        self.0.send(frame)
    }

    /// The next message; `None` if there is none in time.
    ///
    /// # Errors
    /// Why the channel is broken, or if the other host sends what is no message.
    pub(super) fn receive<M: DeserializeOwned>(&self, timeout: Duration) -> Result<Option<M>, String> {
        let Some(frame) = self.0.receive(timeout)? else { return Ok(None) };
        let message = bounded::read(|| postcard::from_bytes(&frame));
        message.map(Some).map_err(|error| format!("the other host sent what is no message: {error}"))
    }

    pub(super) fn set_on_received(&self, wake: impl Fn() + Send + 'static) {
        self.0.set_on_received(Box::new(wake));
    }
}
