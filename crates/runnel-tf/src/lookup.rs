//! Look-ups of transforms between frames.

use runnel_core::time::Time;
use runnel_msgs::geometry_msgs::msg::TransformStamped;
use runnel_msgs::std_msgs::msg::Header;

use crate::LATEST;
use crate::buffer_core::BufferCore;
use crate::error::TransformError;
use crate::frame_names::FrameId;
use crate::path::{Ends, Path, When};
use crate::transform::Transform;

const TARGET: &str = "target_frame";
const SOURCE: &str = "source_frame";
const FIXED: &str = "fixed_frame";

/// A found path, and the time at which it holds.
enum Found {
    /// Target and source are the same frame.
    SameFrame(Time),
    Path(Path, i64),
}

impl BufferCore {
    /// The transform that takes coordinates in frame `source` to frame `target`, at a time, or the
    /// [latest](crate::LATEST): then all transforms between the frames are used at the latest time at which all are
    /// known. The message's time is that time; 0 if all are static.
    ///
    /// # Errors
    /// Why it is not known: see [`TransformError`].
    pub fn lookup_transform(
        &self,
        target: &str,
        source: &str,
        at: Time,
    ) -> Result<TransformStamped, TransformError> {
        let (transform, stamp) = self.lookup(target, source, at)?;
        Ok(message(target, source, transform, stamp))
    }

    /// The transform that takes coordinates in frame `source` at time `source_time` to frame `target` at time
    /// `target_time`, where frame `fixed` has not moved between these times: where is now what was there then? The
    /// message's time is that of the target.
    ///
    /// # Errors
    /// As [`lookup_transform`](Self::lookup_transform).
    pub fn lookup_transform_full(
        &self,
        (target, target_time): (&str, Time),
        (source, source_time): (&str, Time),
        fixed: &str,
    ) -> Result<TransformStamped, TransformError> {
        let names = [(TARGET, target), (SOURCE, source), (FIXED, fixed)];
        names.iter().try_for_each(|name| self.id(*name).map(drop))?;
        let [target_name, source_name, fixed_name] = names;
        let (fixed_from_source, _) = self.lookup_named(fixed_name, source_name, source_time)?;
        let (target_from_fixed, stamp) = self.lookup_named(target_name, fixed_name, target_time)?;
        Ok(message(target, source, target_from_fixed * fixed_from_source, stamp))
    }

    /// Whether [`lookup_transform`](Self::lookup_transform) has an answer.
    pub fn can_transform(&self, target: &str, source: &str, at: Time) -> bool {
        self.check_transform(target, source, at).is_ok()
    }

    /// As [`can_transform`](Self::can_transform), with the reason if there is no answer.
    ///
    /// # Errors
    /// As [`lookup_transform`](Self::lookup_transform).
    pub fn check_transform(&self, target: &str, source: &str, at: Time) -> Result<(), TransformError> {
        self.find((TARGET, target), (SOURCE, source), at).map(drop)
    }

    /// The latest time at which all transforms between two frames are known; 0 if all are static.
    ///
    /// # Errors
    /// Why there is none.
    pub fn latest_common_time(&self, target: &str, source: &str) -> Result<Time, TransformError> {
        match self.find((TARGET, target), (SOURCE, source), LATEST)? {
            Found::SameFrame(at) => Ok(at),
            Found::Path(_, stamp) => Ok(Time::from_nanos(stamp)),
        }
    }

    /// The frames from the source to the target, each the parent or a child of the one before, at the latest time at
    /// which all transforms between them are known.
    ///
    /// # Errors
    /// Why there is no path.
    pub fn frames_between(&self, target: &str, source: &str) -> Result<Vec<String>, TransformError> {
        let Found::Path(path, _) = self.find((TARGET, target), (SOURCE, source), LATEST)? else {
            return Ok(vec![target.to_owned()]);
        };
        let from_source = path.from_source.iter().map(|step| step.frame);
        let ancestor = path.ancestor(self).into_iter();
        let from_target = path.from_target.iter().rev().map(|step| step.frame);
        let frames = from_source.chain(ancestor).chain(from_target);
        Ok(frames.map(|frame| self.names.name(frame).to_owned()).collect())
    }

    /// The transform and its time.
    pub(crate) fn lookup(
        &self,
        target: &str,
        source: &str,
        at: Time,
    ) -> Result<(Transform, Time), TransformError> {
        self.lookup_named((TARGET, target), (SOURCE, source), at)
    }

    fn lookup_named(
        &self,
        target: (&'static str, &str),
        source: (&'static str, &str),
        at: Time,
    ) -> Result<(Transform, Time), TransformError> {
        Ok(match self.find(target, source, at)? {
            Found::SameFrame(at) => (Transform::IDENTITY, at),
            Found::Path(path, stamp) => (self.transform_along(&path, stamp), Time::from_nanos(stamp)),
        })
    }

    /// Finds the path between two frames, each given with the argument that names it.
    fn find(
        &self,
        target: (&'static str, &str),
        source: (&'static str, &str),
        at: Time,
    ) -> Result<Found, TransformError> {
        [target, source].iter().try_for_each(|name| check_name(*name))?;
        if target.1 == source.1 {
            return Ok(Found::SameFrame(self.time_of_frame(target.1, at)));
        }
        let ends = Ends { target: self.id(target)?, source: self.id(source)? };
        let stamp = if at == LATEST { self.common_stamp(ends)? } else { at.as_nanos() };
        Ok(Found::Path(self.path(ends, When::At(stamp))?, stamp))
    }

    /// The number of a known frame.
    fn id(&self, (argument, frame): (&'static str, &str)) -> Result<FrameId, TransformError> {
        check_name((argument, frame))?;
        self.names.find(frame).ok_or_else(|| TransformError::Lookup { argument, frame: frame.to_owned() })
    }

    /// The latest time in nanoseconds at which all transforms between two frames are known.
    fn common_stamp(&self, ends: Ends) -> Result<i64, TransformError> {
        let path = self.path(ends, When::Latest)?;
        let steps = path.from_source.iter().chain(&path.from_target);
        let stamps = steps.filter_map(|step| self.history(step.frame)?.latest_stamp());
        Ok(stamps.min().unwrap_or_default())
    }

    /// The time of the transform of a frame to itself.
    fn time_of_frame(&self, frame: &str, at: Time) -> Time {
        if at != LATEST {
            return at;
        }
        let latest = self.names.find(frame).and_then(|frame| self.history(frame)?.latest_stamp());
        latest.map(Time::from_nanos).unwrap_or_default()
    }
}

fn message(target: &str, source: &str, transform: Transform, stamp: Time) -> TransformStamped {
    let header = Header { stamp, frame_id: target.to_owned(), ..Header::default() };
    TransformStamped { header, child_frame_id: source.to_owned(), transform: transform.into() }
}

/// Refuses a name that tf2 refuses.
fn check_name((argument, frame): (&'static str, &str)) -> Result<(), TransformError> {
    if frame.is_empty() || frame.starts_with('/') {
        return Err(TransformError::InvalidArgument { argument, frame: frame.to_owned() });
    }
    Ok(())
}
