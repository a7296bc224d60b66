//! Messages for one ROS 2 reader each: requests and replies of services.

use runnel_rtps::NotSent;
use runnel_rtps::wire::{Guid, SampleIdentity};

use super::{Publication, WriterGroup};
use crate::frame::Frame;
use crate::log_output::console;
use crate::sync::lock;

impl Publication {
    /// Sends a message to one reader, by RTPS or by shared memory. Returns its number.
    ///
    /// # Errors
    /// The reader is not matched, or does not keep pace.
    pub(crate) fn send_to(
        &self,
        group: &WriterGroup,
        frame: &Frame,
        to: (Guid, Option<SampleIdentity>),
    ) -> Result<u64, NotSent> {
        let writer = group.writer().ok_or(NotSent::Unmatched)?;
        let mut state = lock(&self.state);
        let pair = (writer.id(), to.0);
        if state.is_full_in_memory(pair, frame.as_ref().len()) {
            return Err(NotSent::Full);
        }
        let (number, unsent) = writer.write_to(frame.clone(), to)?;
        self.send_in_memory_of(&mut state, pair, (number, frame));
        drop(state);
        let evicted = unsent.evicted();
        drop(unsent);
        if let Some(reader) = evicted {
            let (service, reader) = (&self.info.publisher, writer.describe(reader));
            console::warning!(
                "service {service}: reader {reader} acknowledges no messages: the oldest for it are dropped, to send \
                 messages to others"
            );
        }
        Ok(number)
    }
}
