//! Messages as frames, with the numbers that ROS 1 gives them.

use runnel_ros1::tcpros::frame;

use super::{Blank, Outgoing, State, Unfit};
use crate::data::LENGTH;
use crate::data::frames::SHORT;
use crate::ipc::Frame;

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
        let short = (1..=SHORT - LENGTH).contains(&message.wire_len());
        self.framed(short, |out| message.write(out))
    }

    /// What is written as a frame. The header that it may begin with gets a `seq` that counts up, as roscpp writes it.
    pub(super) fn framed(
        &mut self,
        short: bool,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Unfit>,
    ) -> Result<Frame, Unfit> {
        let (seq, mut written) = (self.next_seq(), Ok(()));
        let bytes = self.pool.filled(short, |out| {
            frame(out, |out| written = write(out));
            number(out, seq);
        });
        match written {
            Ok(()) => Ok(Frame::Own(bytes)),
            Err(unfit) => {
                self.pool.give_back(bytes);
                Err(unfit)
            }
        }
    }

    /// What was written as a frame, which gets its number and is written no more.
    pub(super) fn frozen(&mut self, mut filled: Blank) -> Frame {
        number(filled.bytes_mut(), self.next_seq());
        frozen(filled)
    }

    /// The `seq` of the next message, if it has a header.
    fn next_seq(&self) -> Option<u32> {
        self.options.has_header.then_some(self.seq)
    }
}

/// What was written as a frame, which is written no more.
pub(super) fn frozen(filled: Blank) -> Frame {
    match filled {
        Blank::Slot(slot, len) => Frame::Slot(slot.freeze(len)),
        Blank::Own(bytes) => Frame::Own(bytes),
    }
}

/// Writes the number of a message into the header that its frame begins with.
fn number(frame: &mut [u8], seq: Option<u32>) {
    if let (Some(seq), Some(place)) = (seq, frame.get_mut(LENGTH..LENGTH + 4)) {
        place.copy_from_slice(&seq.to_le_bytes());
    }
}
