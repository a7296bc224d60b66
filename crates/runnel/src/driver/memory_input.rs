//! What the receiving end of a link of ROS 1, or of a pair of the ROS 2 graph, has to do with memory that another process shares:
//! the channel by which its samples come, and their order among those of the network.

use std::sync::Arc;

use runnel_core::bounds::MAX_MESSAGE;
use runnel_delivery::Statement;
use runnel_ros1::tcpros::FrameReader;

use super::pair_delivery::PairDelivery;
use crate::data::{LinkInfo, SampleInfo, TopicInput};
use crate::ipc::{Carried, Piece, Receiver, Record, SessionFault};

/// See the module's documentation.
#[derive(Default)]
pub(super) struct MemoryInput {
    channel: Option<Channel>,
    /// From the first sample of a channel until all that came by it is with the user.
    pub(super) delivery: Option<Box<PairDelivery>>,
    /// What the publisher is still to be told.
    pub(super) untold: Option<Statement>,
}

/// By what samples come.
enum Channel {
    BetweenSamples,
    /// A part has come of a sample of this number.
    WithinSample(u64, FrameReader),
}

impl MemoryInput {
    /// Whether samples come by a session.
    pub(super) fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    /// Whether a part of a sample has come.
    pub(super) fn is_within_sample(&self) -> bool {
        matches!(self.channel, Some(Channel::WithinSample(..)))
    }

    /// Samples come by a session from now on.
    pub(super) fn open_channel(&mut self) {
        self.channel = Some(Channel::BetweenSamples);
    }

    /// Nothing more comes by the session; false if nothing did.
    pub(super) fn close_channel(&mut self) -> bool {
        self.untold = None;
        self.channel.take().is_some()
    }

    /// Gives a sample that a record carries to the subscriptions, if all of them get it and nothing is to come before it.
    #[inline]
    pub(super) fn take_in_order(
        &mut self,
        receiver: &mut Receiver,
        record: &Record,
        (topic, from): (&TopicInput, &Arc<LinkInfo>),
    ) -> Result<bool, SessionFault> {
        let number = receiver.number(record)?;
        let (Some(Channel::BetweenSamples), Some(delivery)) = (&self.channel, &mut self.delivery) else {
            return Ok(false);
        };
        if !delivery.accept_in_order(number) {
            return Ok(false);
        }
        let length = record.len as usize - size_of::<u64>();
        // Those of a link of ROS 1 are counted by both ends and are not the publisher's.
        let info = if from.encoding.is_ros1() { SampleInfo::default() } else { SampleInfo::numbered(number) };
        topic.push_filled(length, (from, info), |into| receiver.copy_sample(record, into));
        receiver.pass(record);
        Ok(true)
    }

    /// Takes what the channel brings. `spare` gives a buffer for a sample that comes in pieces.
    pub(super) fn carried(
        &mut self,
        carried: Carried,
        has_room: bool,
        spare: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), SessionFault> {
        let (Some(channel), Some(delivery)) = (&mut self.channel, &mut self.delivery) else { return Ok(()) };
        let whole = match carried {
            Carried::Stream(bytes) => channel.take_more(&bytes)?,
            Carried::Sample { number, piece } => {
                channel.check_begin(number, delivery)?;
                Some((number, piece))
            }
            Carried::SampleBegin { number, len, bytes } => {
                channel.check_begin(number, delivery)?;
                channel.begin((number, len), spare)?;
                channel.take_more(&bytes)?
            }
            Carried::Skip(Statement::Skip { to, .. }) => {
                return delivery.skip_of_memory(to).map_err(SessionFault::Delivery);
            }
            Carried::Skip(_) => return Err(SessionFault::UnexpectedStatement),
        };
        let Some((number, piece)) = whole else { return Ok(()) };
        delivery.message_of_memory(number, piece, has_room).map_err(SessionFault::Delivery)
    }
}

impl Channel {
    /// Whether the sample of this number may begin.
    fn check_begin(&self, number: u64, delivery: &PairDelivery) -> Result<(), SessionFault> {
        match self {
            Self::BetweenSamples => delivery.check_order(number),
            Self::WithinSample(..) => Err(SessionFault::SampleWithinSample),
        }
    }

    /// A sample begins that comes in pieces.
    fn begin(
        &mut self,
        (number, len): (u64, u64),
        spare: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), SessionFault> {
        let mut pieces = FrameReader::new(MAX_MESSAGE);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        pieces.begin_unframed(len, spare).map_err(SessionFault::SampleLength)?;
        *self = Self::WithinSample(number, pieces);
        Ok(())
    }

    /// More of a sample has come; the sample, if it is whole.
    fn take_more(&mut self, mut bytes: &[u8]) -> Result<Option<(u64, Piece)>, SessionFault> {
        let mut whole = None;
        if let Self::WithinSample(number, pieces) = self {
            let message = pieces.take(&mut bytes, Vec::new).map_err(SessionFault::SampleLength)?;
            whole = message.map(|message| (*number, Piece::Own(message)));
        }
        if whole.is_some() {
            *self = Self::BetweenSamples;
        }
        if bytes.is_empty() { Ok(whole) } else { Err(SessionFault::SampleTooLong) }
    }
}
