//! Messages as frames, with the numbers that ROS 1 gives them.

use runnel_core::wire::{Encoding, GrowingSink, try_write};

use super::{Blank, Outgoing, State};
use crate::data::frames::SHORT;
use crate::error::Unfit;
use crate::frame::Frame;

impl State {
    /// The message as a frame.
    pub(super) fn written(
        &mut self,
        message: &impl Outgoing,
        lendable: Option<Blank>,
    ) -> Result<Frame, Unfit> {
        if let Some(lendable) = lendable {
            return Ok(self.frozen(lendable));
        }
        // Of no length are messages whose length is not known beforehand.
        let short = (1..=SHORT).contains(&message.wire_len());
        self.framed(short, |out| message.write(out))
    }

    /// What is written as a frame. The header that it may begin with gets a `seq` that counts up, as roscpp writes it.
    pub(super) fn framed(
        &mut self,
        short: bool,
        write: impl FnOnce(&mut GrowingSink) -> Result<(), Unfit>,
    ) -> Result<Frame, Unfit> {
        let seq = self.next_seq();
        self.pooled((Encoding::Ros1, short), write, |out| number(out, seq))
    }

    /// What is written in an encoding as a frame of the pool, which `finish` has the last look at.
    pub(super) fn pooled(
        &mut self,
        (encoding, short): (Encoding, bool),
        write: impl FnOnce(&mut GrowingSink) -> Result<(), Unfit>,
        finish: impl FnOnce(&mut [u8]),
    ) -> Result<Frame, Unfit> {
        let mut written = Ok(());
        let bytes = self.pool.filled(short, |out| {
            if let Err(refused) = try_write(out, |out| written = write(out)) {
                written = Err(refused.into());
            }
            finish(out);
        });
        match written {
            Ok(()) => Ok(Frame::new(encoding, bytes)),
            Err(unfit) => {
                self.pool.give_back(bytes);
                Err(unfit)
            }
        }
    }

    /// What was written as a frame, which gets its number and is written no more.
    pub(super) fn frozen(&mut self, mut filled: Blank) -> Frame {
        number(filled.bytes_mut(), self.next_seq());
        filled.frozen()
    }

    /// The `seq` of the next message, if it has a header.
    fn next_seq(&self) -> Option<u32> {
        self.options.has_header.then_some(self.seq)
    }
}

/// Writes the number of a message into the header that it begins with.
fn number(frame: &mut [u8], seq: Option<u32>) {
    if let (Some(seq), Some(place)) = (seq, frame.first_chunk_mut()) {
        *place = seq.to_le_bytes();
    }
}
