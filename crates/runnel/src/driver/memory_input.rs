//! Shared memory as the receiving end of a ROS 1 link or a ROS 2 pair uses it: the channel that delivers its samples,
//! and their order among those of the network.

use std::sync::Arc;

use runnel_core::bounds::MAX_MESSAGE;
use runnel_delivery::Statement;
use runnel_ros1::tcpros::FrameReader;

use super::pair_delivery::PairDelivery;
use crate::data::{LinkInfo, SampleInfo, TopicInput};
use crate::ipc::{ChannelData, IpcFault, Receiver, Record, SampleData};

/// See the module's documentation.
#[derive(Default)]
pub(super) struct MemoryInput {
    channel: Option<Channel>,
    /// From the first sample of a channel until all samples of the channel are delivered.
    pub(super) delivery: Option<Box<PairDelivery>>,
    /// Report to the publisher that has not been sent.
    pub(super) unsent_report: Option<Statement>,
}

/// State of a channel that delivers samples.
#[derive(Default)]
pub(super) enum Channel {
    #[default]
    BetweenSamples,
    /// A part of the sample with this number has arrived.
    WithinSample(u64, FrameReader),
}

impl MemoryInput {
    /// Whether an IPC connection delivers samples.
    pub(super) fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    /// Whether only a part of a sample has arrived.
    pub(super) fn is_within_sample(&self) -> bool {
        matches!(self.channel, Some(Channel::WithinSample(..)))
    }

    /// Begins a channel.
    pub(super) fn open_channel(&mut self) {
        self.channel = Some(Channel::BetweenSamples);
    }

    /// Takes the partly received sample, for the receiver of the rest of the channel.
    pub(super) fn take_begun(&mut self) -> Channel {
        self.channel.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Whether the network has delivered all samples of before the channel, and the publisher has been informed of
    /// that.
    pub(super) fn is_drained(&self) -> bool {
        self.unsent_report.is_none()
            && self.delivery.as_ref().is_some_and(|delivery| !delivery.waits_for_network())
    }

    /// Ends the channel; false if there is none.
    pub(super) fn close_channel(&mut self) -> bool {
        self.unsent_report = None;
        self.channel.take().is_some()
    }

    /// Gives the sample of a record to the subscriptions, if all of them get it and no other sample comes before it.
    #[inline]
    pub(super) fn take_in_order(
        &mut self,
        receiver: &mut Receiver,
        record: &Record,
        (topic, from): (&TopicInput, &Arc<LinkInfo>),
    ) -> Result<bool, IpcFault> {
        let number = receiver.number(record)?;
        let (Some(Channel::BetweenSamples), Some(delivery)) = (&self.channel, &mut self.delivery) else {
            return Ok(false);
        };
        if !delivery.accept_in_order(number) {
            return Ok(false);
        }
        let length = record.len as usize - size_of::<u64>();
        // Both ends count the messages of a ROS 1 link. These numbers are not the publisher's.
        let info = if from.encoding.is_ros1() { SampleInfo::default() } else { SampleInfo::numbered(number) };
        topic.push_filled(length, (from, info), |into| receiver.copy_sample(record, into));
        receiver.pass(record);
        Ok(true)
    }

    /// Takes input of the channel. `spare` gives a buffer for a sample that arrives in pieces.
    pub(super) fn on_channel_data(
        &mut self,
        data: ChannelData,
        has_capacity: bool,
        spare: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), IpcFault> {
        let (Some(channel), Some(delivery)) = (&mut self.channel, &mut self.delivery) else { return Ok(()) };
        let whole = match data {
            ChannelData::Stream(bytes) => channel.take_more(&bytes)?,
            ChannelData::Sample { number, data } => {
                channel.check_begin(number, delivery)?;
                Some((number, data))
            }
            ChannelData::SampleBegin { number, len, bytes } => {
                channel.check_begin(number, delivery)?;
                channel.begin((number, len), spare)?;
                channel.take_more(&bytes)?
            }
            ChannelData::Skip(Statement::Skip { to, .. }) => {
                return delivery.skip_of_memory(to).map_err(IpcFault::Delivery);
            }
            ChannelData::Skip(_) => return Err(IpcFault::UnexpectedStatement),
        };
        let Some((number, data)) = whole else { return Ok(()) };
        delivery.message_of_memory(number, data, has_capacity).map_err(IpcFault::Delivery)
    }
}

impl Channel {
    /// Checks that the sample with this number may begin.
    fn check_begin(&self, number: u64, delivery: &PairDelivery) -> Result<(), IpcFault> {
        match self {
            Self::BetweenSamples => delivery.check_order(number),
            Self::WithinSample(..) => Err(IpcFault::SampleWithinSample),
        }
    }

    /// Begins a sample that arrives in pieces.
    pub(super) fn begin(
        &mut self,
        (number, len): (u64, u64),
        spare: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), IpcFault> {
        let mut pieces = FrameReader::new(MAX_MESSAGE);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        pieces.begin_unframed(len, spare).map_err(IpcFault::SampleLength)?;
        *self = Self::WithinSample(number, pieces);
        Ok(())
    }

    /// Adds a piece of a sample. Returns the sample once it is complete.
    pub(super) fn take_more(&mut self, mut bytes: &[u8]) -> Result<Option<(u64, SampleData)>, IpcFault> {
        let mut whole = None;
        if let Self::WithinSample(number, pieces) = self {
            let message = pieces.take(&mut bytes, Vec::new).map_err(IpcFault::SampleLength)?;
            whole = message.map(|message| (*number, SampleData::Own(message)));
        }
        if whole.is_some() {
            *self = Self::BetweenSamples;
        }
        if bytes.is_empty() { Ok(whole) } else { Err(IpcFault::SampleTooLong) }
    }
}
