//! Samples from RTPS whose pairs a ROS 1 link serves.
//!
//! RTPS keeps the samples of reliable pairs while the link serves them
//! ([`Rtps::set_paused`](crate::rtps::Rtps::set_paused)), except those that it has when a pair ends. All other samples
//! come here. Most of them are not for the subscription: RTPS sent them before the link took over. But the publisher
//! may have ended the link meanwhile and serve the pair by RTPS again. It does so only after the end of the connection,
//! which this process finds by a check if both are on one host. So the samples wait for this check, and no datagram is
//! taken before.

use std::collections::{BTreeMap, BTreeSet};

use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Sample, SamplePayload};

use super::Ros2;
use crate::driver::effect::{Effect, Effects};

/// Maximum number of checks of a pair's links until all of RTPS is read or an iteration has no waiting samples. A
/// publisher may send such samples without end, and IPC connections of others wait meanwhile.
const MAX_CHECKS: u32 = 16;

/// Samples that wait for the event loop.
#[derive(Default)]
pub(super) struct Refused {
    samples: Vec<Sample>,
    /// Their pairs.
    pairs: BTreeSet<(EntityId, Guid)>,
    /// Number of checks of each pair's links.
    checks: BTreeMap<(EntityId, Guid), u32>,
    /// Samples have waited in this iteration.
    has_waited: bool,
}

impl Refused {
    /// Whether a sample of a pair waits.
    pub(super) fn has(&self, pair: (EntityId, Guid)) -> bool {
        self.pairs.contains(&pair)
    }

    fn add(&mut self, sample: Sample) {
        self.pairs.insert((sample.reader, sample.writer));
        self.samples.push(sample);
    }

    fn take(&mut self) -> Vec<Sample> {
        self.pairs.clear();
        std::mem::take(&mut self.samples)
    }

    /// Whether another sample of a pair may wait.
    fn may_wait(&mut self, pair: (EntityId, Guid)) -> bool {
        if self.has(pair) {
            return true;
        }
        let checks = self.checks.entry(pair).or_default();
        *checks += 1;
        *checks <= MAX_CHECKS
    }
}

impl Ros2 {
    /// Keeps a sample until the event loop has checked the link.
    pub(super) fn refuse(&mut self, mut sample: Sample, datagram: &[u8], effects: &mut Effects) {
        self.refused.has_waited = true;
        if !self.refused.may_wait((sample.reader, sample.writer)) {
            return self.drop_refused(&sample, datagram, effects);
        }
        sample.payload = SamplePayload::Owned(match sample.payload {
            SamplePayload::Owned(bytes) => bytes,
            SamplePayload::InDatagram(place) => datagram.get(place).unwrap_or_default().to_vec(),
        });
        if self.refused.samples.is_empty() {
            effects.push_back(Effect::SamplesRefused);
        }
        self.refused.add(sample);
    }

    /// Drops a sample. It has used capacity of RTPS in any case.
    fn drop_refused(&mut self, sample: &Sample, datagram: &[u8], effects: &mut Effects) {
        self.use_capacity(sample.reader, sample.payload.bytes(datagram).len(), effects);
    }

    /// Whether the event loop has work that comes before the next datagram.
    pub(in crate::driver) fn waits_for_loop(&self) -> bool {
        !self.pending_events.is_empty() || self.has_refused()
    }

    /// Whether samples wait for the event loop.
    pub(in crate::driver) fn has_refused(&self) -> bool {
        !self.refused.samples.is_empty()
    }

    /// Resets the numbers of checks, since all of RTPS has been read.
    pub(in crate::driver) fn reset_checks(&mut self) {
        self.refused.checks.clear();
    }

    /// Begins an iteration.
    pub(in crate::driver) fn begin_iteration(&mut self) {
        if !std::mem::take(&mut self.refused.has_waited) {
            self.reset_checks();
        }
    }

    /// Reader and writer of each waiting sample, and the dual node id of the writer's node.
    pub(in crate::driver) fn refused_pairs(&self) -> Vec<(u64, (EntityId, Guid))> {
        let of_node = |pair: &(EntityId, Guid)| {
            let dual_node_id = self.readers.get(&pair.0)?.links.get(&pair.1)?.dual_node_id?;
            Some((dual_node_id, *pair))
        };
        self.refused.pairs.iter().filter_map(of_node).collect()
    }

    /// Takes the waiting samples after the check: those that RTPS delivers in place of a link. Drops the others.
    pub(in crate::driver) fn take_refused(&mut self, effects: &mut Effects) -> Vec<Sample> {
        let samples = self.refused.take();
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

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_rtps::wire::{GuidPrefix, SequenceNumber};

    fn sample(writer: u8) -> Sample {
        Sample {
            reader: EntityId::user_reader(1),
            writer: GuidPrefix([writer; 12]).with(EntityId::user_writer(1)),
            number: SequenceNumber(1),
            stamp: None,
            payload: SamplePayload::Owned(Vec::new()),
            related: None,
        }
    }

    /// Refuses a sample and takes it without delivery. Returns whether it waited.
    fn waits(ros2: &mut Ros2, writer: u8) -> bool {
        ros2.refuse(sample(writer), &[], &mut Effects::default());
        !ros2.refused.take().is_empty()
    }

    #[test]
    fn flood_of_a_pair_is_dropped_until_rtps_is_read() {
        let ros2 = &mut Ros2::new(None, false);
        assert!((0..MAX_CHECKS).all(|_| waits(ros2, 1)));
        assert!(!waits(ros2, 1));
        assert!(waits(ros2, 2), "the sample of another pair");
        ros2.begin_iteration();
        assert!(!waits(ros2, 1), "samples were refused in the last turn");
        ros2.reset_checks();
        assert!(waits(ros2, 1));
    }

    #[test]
    fn each_pair_waits_until_its_samples_are_taken() {
        let ros2 = &mut Ros2::new(None, false);
        let pairs = [1, 2, 1].map(sample);
        let [first, second, _] = pairs.each_ref().map(|sample| (sample.reader, sample.writer));
        pairs.into_iter().for_each(|sample| ros2.refuse(sample, &[], &mut Effects::default()));
        assert!(ros2.refused.has(first) && ros2.refused.has(second));
        assert_eq!(ros2.refused.pairs.len(), 2);
        assert_eq!(ros2.take_refused(&mut Effects::default()).len(), 3);
        assert!(!ros2.refused.has(first) && !ros2.refused.has(second));
    }

    #[test]
    fn iteration_without_refused_samples_ends_a_flood() {
        let ros2 = &mut Ros2::new(None, false);
        assert!(!(0..=MAX_CHECKS).all(|_| waits(ros2, 1)));
        ros2.begin_iteration();
        ros2.begin_iteration();
        assert!(waits(ros2, 1));
    }
}
