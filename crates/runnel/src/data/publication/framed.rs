//! Serialized messages as frames, with the `seq` numbers of ROS 1 headers.

use runnel_core::wire::{Encoding, GrowingSink, try_write};

use super::{LoanedBuffer, Outgoing, State};
use crate::data::frames::SHORT;
use crate::error::ConversionError;
use crate::frame::Frame;

impl State {
    /// The message as a frame.
    pub(super) fn written(
        &mut self,
        message: &impl Outgoing,
        lendable: Option<LoanedBuffer>,
    ) -> Result<Frame, ConversionError> {
        if let Some(lendable) = lendable {
            return Ok(self.sealed(lendable));
        }
        // A length of 0 stands for an unknown length.
        let short = (1..=SHORT).contains(&message.wire_len());
        self.framed(short, |out| message.write(out))
    }

    /// Serializes a message to a frame. Its header, if it has one, gets the next `seq`, as in roscpp.
    pub(super) fn framed(
        &mut self,
        short: bool,
        write: impl FnOnce(&mut GrowingSink) -> Result<(), ConversionError>,
    ) -> Result<Frame, ConversionError> {
        let seq = self.next_seq();
        self.pooled((Encoding::Ros1, short), write, |out| number(out, seq))
    }

    /// Serializes a message to a frame of the pool. `finish` can change the bytes last.
    pub(super) fn pooled(
        &mut self,
        (encoding, short): (Encoding, bool),
        write: impl FnOnce(&mut GrowingSink) -> Result<(), ConversionError>,
        finish: impl FnOnce(&mut [u8]),
    ) -> Result<Frame, ConversionError> {
        let mut written = Ok(());
        let bytes = self.pool.filled(short, |out| {
            if let Err(refused) = try_write(out, |out| written = write(out)) {
                written = Err(refused.into());
            }
            finish(out);
        });
        match written {
            Ok(()) => Ok(Frame::new(encoding, bytes)),
            Err(error) => {
                self.pool.recycle(bytes);
                Err(error)
            }
        }
    }

    /// The written message as an immutable frame, with its `seq`.
    pub(super) fn sealed(&mut self, mut loan: LoanedBuffer) -> Frame {
        number(loan.bytes_mut(), self.next_seq());
        loan.sealed()
    }

    /// The `seq` of the next message, if it has a header.
    fn next_seq(&self) -> Option<u32> {
        self.options.has_header.then_some(self.seq)
    }
}

/// Writes `seq` into the header at the beginning of the message.
fn number(frame: &mut [u8], seq: Option<u32>) {
    if let (Some(seq), Some(place)) = (seq, frame.first_chunk_mut()) {
        *place = seq.to_le_bytes();
    }
}
