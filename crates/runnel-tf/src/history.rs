//! The transforms of one frame to its parent: a static one, or those of the last seconds in the order of their times.

use std::collections::VecDeque;

use runnel_core::time::Time;

use crate::error::{Available, InsertError};
use crate::frame_names::FrameId;
use crate::transform::Transform;

/// A transform of a frame to its parent at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Time in nanoseconds.
    pub(crate) stamp: i64,
    pub(crate) parent: FrameId,
    pub(crate) transform: Transform,
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(crate) enum History {
    /// It holds at every time.
    Static(Sample),
    /// Oldest first, at least one.
    Dynamic(VecDeque<Sample>),
}

/// Where a time lies in a history: at a sample, or between it and the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    index: usize,
    is_between: bool,
}

impl History {
    /// A history of one transform.
    pub(crate) fn new(sample: Sample, is_static: bool) -> Self {
        if is_static { Self::Static(sample) } else { Self::Dynamic(VecDeque::from([sample])) }
    }

    /// True if the transform holds at every time.
    pub(crate) fn is_static(&self) -> bool {
        matches!(self, Self::Static(_))
    }

    /// Transforms.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Static(_) => 1,
            Self::Dynamic(samples) => samples.len(),
        }
    }

    /// The parents, one for each transform.
    pub(crate) fn parents(&self) -> impl Iterator<Item = FrameId> {
        let (one, many) = match self {
            Self::Static(sample) => (Some(sample), None),
            Self::Dynamic(samples) => (None, Some(samples)),
        };
        one.into_iter().chain(many.into_iter().flatten()).map(|sample| sample.parent)
    }

    /// Replaces the numbers of parents. Transforms that follow each other usually have the same one.
    pub(crate) fn map_parents(&mut self, mut map: impl FnMut(FrameId) -> FrameId) {
        let (one, many) = match self {
            Self::Static(sample) => (Some(sample), None),
            Self::Dynamic(samples) => (None, Some(samples)),
        };
        let mut last = None;
        for sample in one.into_iter().chain(many.into_iter().flatten()) {
            let (_, mapped) = last
                .filter(|(from, _)| *from == sample.parent)
                .unwrap_or_else(|| (sample.parent, map(sample.parent)));
            last = Some((sample.parent, mapped));
            sample.parent = mapped;
        }
    }

    /// The latest transform.
    pub(crate) fn latest(&self) -> Option<&Sample> {
        match self {
            Self::Static(sample) => Some(sample),
            Self::Dynamic(samples) => samples.back(),
        }
    }

    /// The time of the latest transform; `None` if it is static.
    pub(crate) fn latest_stamp(&self) -> Option<i64> {
        self.samples()?.back().map(|sample| sample.stamp)
    }

    /// The time of the oldest transform; `None` if it is static.
    pub(crate) fn oldest_stamp(&self) -> Option<i64> {
        self.samples()?.front().map(|sample| sample.stamp)
    }

    /// Adds a transform that is not static, and removes those that are older than `cache_time` nanoseconds before the
    /// latest. A static transform is replaced.
    pub(crate) fn insert(&mut self, sample: Sample, cache_time: i64) -> Result<(), InsertError> {
        let Self::Dynamic(samples) = self else {
            *self = Self::new(sample, false);
            return Ok(());
        };
        let oldest = |latest: i64| latest.saturating_sub(cache_time);
        if samples.back().is_some_and(|latest| oldest(latest.stamp) > sample.stamp) {
            return Err(InsertError::OldData);
        }
        let place = samples.partition_point(|other| other.stamp < sample.stamp);
        if samples.get(place).is_some_and(|other| other.stamp == sample.stamp) {
            return Err(InsertError::RepeatedData);
        }
        samples.insert(place, sample);
        let latest = samples.back().map_or(0, |latest| latest.stamp);
        while samples.front().is_some_and(|first| first.stamp < oldest(latest)) {
            samples.pop_front();
        }
        Ok(())
    }

    /// Removes the oldest transform unless it is the only one. True if there was another.
    pub(crate) fn remove_oldest(&mut self) -> bool {
        match self {
            Self::Dynamic(samples) if samples.len() > 1 => samples.pop_front().is_some(),
            _ => false,
        }
    }

    /// Finds a time.
    ///
    /// # Errors
    /// The time that is known, if the transform would have to be extrapolated.
    pub(crate) fn find(&self, stamp: i64) -> Result<Position, Available> {
        let Self::Dynamic(samples) = self else { return Ok(Position { index: 0, is_between: false }) };
        let after = samples.partition_point(|sample| sample.stamp <= stamp);
        let index = after.saturating_sub(1);
        let found = samples.get(index).map(|sample| sample.stamp).unwrap_or_default();
        if found == stamp {
            return Ok(Position { index, is_between: false });
        }
        if after > 0 && after < samples.len() {
            return Ok(Position { index, is_between: true });
        }
        let known = Time::from_nanos(found);
        Err(match samples.len() {
            0 | 1 => Available::Only(known),
            _ if after == 0 => Available::Since(known),
            _ => Available::Until(known),
        })
    }

    /// The position of the latest transform.
    pub(crate) fn latest_position(&self) -> Position {
        Position { index: self.len().saturating_sub(1), is_between: false }
    }

    /// The parent at a time that was found.
    pub(crate) fn parent(&self, position: Position) -> Option<FrameId> {
        self.sample(position.index).map(|sample| sample.parent)
    }

    /// The transform to the parent at a time that was found. If the frame had another parent at the next sample, it is
    /// that of the sample before.
    pub(crate) fn transform(&self, position: Position, stamp: i64) -> Transform {
        let Some(before) = self.sample(position.index) else { return Transform::IDENTITY };
        match self.sample(position.index + 1) {
            Some(after) if position.is_between && after.parent == before.parent => {
                let span = (after.stamp - before.stamp) as f64;
                before.transform.interpolate(after.transform, (stamp - before.stamp) as f64 / span)
            }
            _ => before.transform,
        }
    }

    fn sample(&self, index: usize) -> Option<&Sample> {
        match self {
            Self::Static(sample) => Some(sample).filter(|_| index == 0),
            Self::Dynamic(samples) => samples.get(index),
        }
    }

    fn samples(&self) -> Option<&VecDeque<Sample>> {
        match self {
            Self::Static(_) => None,
            Self::Dynamic(samples) => Some(samples),
        }
    }
}
