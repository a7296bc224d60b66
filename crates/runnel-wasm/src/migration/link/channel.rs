//! A link as the channel of a migration.

use std::time::Duration;

use super::connection::Link;
use crate::migration::Channel;

impl Channel for Link {
    fn send(&self, frame: Vec<u8>) -> Result<(), String> {
        self.send(frame).map_err(|error| error.to_string())
    }

    fn receive(&self, timeout: Duration) -> Result<Option<Vec<u8>>, String> {
        self.receive(timeout).map_err(|error| error.to_string())
    }

    fn set_on_received(&self, wake: Box<dyn Fn() + Send>) {
        self.set_on_received(wake);
    }
}
