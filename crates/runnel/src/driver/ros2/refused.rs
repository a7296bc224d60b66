//! Samples that RTPS brings of pairs that a link of ROS 1 serves.
//!
//! Most of them are not for the subscription: RTPS sent them before the link took over, or to another reader of the participant. But
//! the publisher may have ended the link meanwhile, and serve the pair by RTPS again. It does so only behind the end of the connection,
//! which this process sees when it looks. So the samples wait until the loop has looked, and no datagram is taken before that.

use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Sample, SamplePayload};

use super::Ros2;
use crate::driver::effect::{Effect, Effects};

impl Ros2 {
    /// Keeps such a sample until the loop has looked at the link. One that RTPS may have sent to another reader of the participant is
    /// dropped: the link has brought the same.
    pub(super) fn refuse(&mut self, mut sample: Sample, datagram: &[u8], effects: &mut Effects) {
        if self.may_be_for_another_reader(&sample) {
            return self.drop_refused(&sample, datagram, effects);
        }
        sample.payload = SamplePayload::Owned(match sample.payload {
            SamplePayload::Owned(bytes) => bytes,
            SamplePayload::InDatagram(place) => datagram.get(place).unwrap_or_default().to_vec(),
        });
        if self.refused.is_empty() {
            effects.push_back(Effect::SamplesRefused);
        }
        self.refused.push(sample);
    }

    /// Whether RTPS serves another reader that has matched the writer of a sample.
    fn may_be_for_another_reader(&self, sample: &Sample) -> bool {
        let mut others = self.readers.iter().filter(|(reader, _)| **reader != sample.reader);
        others.any(|(_, end)| end.links.get(&sample.writer).is_some_and(|from| !from.is_served_by_link()))
    }

    /// RTPS has counted its room all the same.
    fn drop_refused(&mut self, sample: &Sample, datagram: &[u8], effects: &mut Effects) {
        self.use_capacity(sample.reader, sample.payload.bytes(datagram).len(), effects);
    }

    /// Whether no datagram is taken until the loop has done what those before call for.
    pub(in crate::driver) fn waits_for_loop(&self) -> bool {
        !(self.ends.is_empty() && self.refused.is_empty())
    }

    /// The readers and writers of samples that wait for the loop, and the origin of the writer's node.
    pub(in crate::driver) fn refused_pairs(&self) -> Vec<(u64, (EntityId, Guid))> {
        let mut pairs: Vec<_> = self.refused.iter().map(|sample| (sample.reader, sample.writer)).collect();
        pairs.dedup();
        let of_node = |pair: (EntityId, Guid)| {
            let origin = self.readers.get(&pair.0)?.links.get(&pair.1)?.origin?;
            Some((origin, pair))
        };
        pairs.into_iter().filter_map(of_node).collect()
    }

    /// The loop has looked: the samples that RTPS has brought instead of a link. The others are dropped.
    pub(in crate::driver) fn take_refused(&mut self, effects: &mut Effects) -> Vec<Sample> {
        let samples = std::mem::take(&mut self.refused);
        let is_served_by_link = |sample: &Sample| {
            let from = self.readers.get(&sample.reader).and_then(|end| end.links.get(&sample.writer));
            from.is_some_and(|from| from.is_served_by_link())
        };
        let (dropped, taken): (Vec<_>, Vec<_>) = samples.into_iter().partition(is_served_by_link);
        for sample in dropped {
            self.drop_refused(&sample, &[], effects);
        }
        taken
    }
}
