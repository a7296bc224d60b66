//! Publishing of messages, and what is counted of it.

use crate::bag::inputs::Found;
use crate::bag::play::publishers::Publishers;
use crate::log_once::LogOnce;

/// The publishers, and the numbers of messages.
pub struct Delivery {
    /// The publishers.
    pub publishers: Publishers,
    /// Published messages.
    pub published: u64,
    /// Messages that could not be published.
    pub refused: u64,
    refusals: LogOnce,
}

impl Delivery {
    /// Before the first message.
    pub fn new(publishers: Publishers) -> Self {
        Self { publishers, published: 0, refused: 0, refusals: LogOnce::default() }
    }

    /// Publishes a message now. A message that cannot be published is left out, and the reason logged once.
    pub fn publish(&mut self, found: &Found) -> bool {
        match self.publishers.publish(found.channel, &found.message.data) {
            Ok(is_published) => {
                self.published += u64::from(is_published);
                is_published
            }
            Err(why) => {
                self.refused += 1;
                let name = self.publishers.name(found.channel);
                self.refusals.warn(format!("{name}: a message is not played: {why}"));
                false
            }
        }
    }
}
