//! Store of the transforms of all frames.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use runnel_msgs::geometry_msgs::msg::TransformStamped;

use crate::error::InsertError;
use crate::frame_names::{FrameId, FrameNames};
use crate::history::{History, Sample};
use crate::transform::Transform;

/// How long a buffer keeps transforms by default, as in tf2.
pub const DEFAULT_CACHE_TIME: Duration = Duration::from_secs(10);

/// How far the squared length of a quaternion may be from 1, as in tf2.
const MAX_NORM_ERROR: f64 = 0.01;

/// Limits of what peers can store in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimits {
    /// Frames. Further ones replace those of the broadcaster that has the most, the least recently updated first.
    pub frames: usize,
    /// Bytes of a frame's name.
    pub name_bytes: usize,
    /// Transforms of one frame. A further one replaces the oldest.
    pub transforms_per_frame: usize,
    /// Transforms of all frames, of about 80 bytes each. A further one replaces the oldest of the frame that has the
    /// most.
    pub transforms: usize,
}

impl Default for BufferLimits {
    /// 10 000 frames with names of 1024 bytes, 100 000 transforms of one frame, a million of all.
    fn default() -> Self {
        Self { frames: 10_000, name_bytes: 1024, transforms_per_frame: 100_000, transforms: 1_000_000 }
    }
}

/// A buffer of transforms, as `tf2::BufferCore`: a tree of frames that changes over time. It has no clock: the latest
/// transform of a frame decides which of its transforms are too old.
///
/// ```
/// use runnel_core::time::Time;
/// use runnel_msgs::geometry_msgs::msg::TransformStamped;
/// use runnel_tf::{BufferCore, LATEST};
///
/// let mut buffer = BufferCore::default();
/// let mut odom_from_base = TransformStamped::default();
/// odom_from_base.header.stamp = Time { sec: 1, nanosec: 0 };
/// odom_from_base.header.frame_id = "odom".into();
/// odom_from_base.child_frame_id = "base_link".into();
/// odom_from_base.transform.translation.x = 2.0;
/// buffer.set_transform(&odom_from_base, "/driver", false)?;
/// let found = buffer.lookup_transform("base_link", "odom", LATEST)?;
/// assert_eq!(found.transform.translation.x, -2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct BufferCore {
    pub(crate) names: FrameNames,
    /// By the numbers of frames.
    pub(crate) frames: Vec<Frame>,
    /// In nanoseconds.
    cache_time: i64,
    pub(crate) limits: BufferLimits,
    /// Transforms of all frames.
    stored: usize,
    /// Transforms that have been stored, which order the updates of frames.
    updates: u64,
    /// Frames that others have replaced.
    pub(crate) replaced: u64,
}

/// What is known of a frame.
#[derive(Clone, Default)]
pub(crate) struct Frame {
    /// `None` as long as it is known only as a parent.
    pub(crate) history: Option<History>,
    /// The node that broadcast the last transform.
    pub(crate) authority: Arc<str>,
    /// The number of the last transform among those of all frames.
    pub(crate) updated: u64,
}

impl Default for BufferCore {
    fn default() -> Self {
        Self::new(DEFAULT_CACHE_TIME)
    }
}

impl BufferCore {
    /// A buffer that keeps transforms for this time.
    pub fn new(cache_time: Duration) -> Self {
        Self::with_limits(cache_time, BufferLimits::default())
    }

    /// The same with other limits.
    pub fn with_limits(cache_time: Duration, limits: BufferLimits) -> Self {
        let cache_time = i64::try_from(cache_time.as_nanos()).unwrap_or(i64::MAX);
        let (names, frames) = (FrameNames::default(), Vec::new());
        Self { names, frames, cache_time, limits, stored: 0, updates: 0, replaced: 0 }
    }

    /// How long transforms are kept.
    pub fn cache_time(&self) -> Duration {
        Duration::from_nanos(self.cache_time.unsigned_abs())
    }

    /// Stores a transform that `authority` has broadcast. Leading slashes of frame names are removed, and the
    /// quaternion is normalized. If `is_static` is set, the transform holds at every time.
    ///
    /// A frame has either a static transform or others: the last kind that is stored replaces the other.
    ///
    /// # Errors
    /// If the transform is not sound, is too old or known already, or a limit is reached.
    pub fn set_transform(
        &mut self,
        message: &TransformStamped,
        authority: &str,
        is_static: bool,
    ) -> Result<(), InsertError> {
        let (parent, child) =
            (without_slash(&message.header.frame_id), without_slash(&message.child_frame_id));
        self.check_names(parent, child)?;
        let transform = checked(message.transform.into())?;
        self.free_capacity(parent, child);
        let child = self.find_or_add(child)?;
        let parent = self.find_or_add(parent)?;
        let sample = Sample { stamp: message.header.stamp.as_nanos(), parent, transform };
        self.insert(child, sample, is_static)?;
        self.updates += 1;
        if let Some(frame) = self.frames.get_mut(child.index()) {
            frame.updated = self.updates;
            if *frame.authority != *authority {
                frame.authority = authority.into();
            }
        }
        Ok(())
    }

    /// Removes all transforms that are not static, and the frames that are then unknown. Needed when time jumps back.
    pub fn clear(&mut self) {
        self.retain_frames(|_, frame| matches!(frame.history, Some(History::Static(_))));
    }

    /// Keeps the transforms of these frames, given with their positions, and removes the frames that are then unknown.
    pub(crate) fn retain_frames(&mut self, keep: impl Fn(usize, &Frame) -> bool) {
        let before = std::mem::take(&mut self.frames);
        let names = std::mem::take(&mut self.names);
        self.stored = 0;
        for ((id, name), mut frame) in names.all().zip(before) {
            if !keep(id.index(), &frame) {
                continue;
            }
            let Some(history) = &mut frame.history else { continue };
            // There were no fewer frames before.
            let Ok(child) = self.find_or_add(name) else { continue };
            history.map_parents(|parent| self.find_or_add(names.name(parent)).unwrap_or(parent));
            self.stored += history.len();
            if let Some(place) = self.frames.get_mut(child.index()) {
                *place = frame;
            }
        }
    }

    /// Frames that others have replaced, beyond [`BufferLimits::frames`].
    pub fn replaced_frames(&self) -> u64 {
        self.replaced
    }

    /// Transforms of all frames.
    pub fn transform_count(&self) -> usize {
        self.stored
    }

    pub(crate) fn history(&self, id: FrameId) -> Option<&History> {
        self.frames.get(id.index())?.history.as_ref()
    }

    fn check_names(&self, parent: &str, child: &str) -> Result<(), InsertError> {
        let limit = self.limits.name_bytes;
        match () {
            () if child.is_empty() => Err(InsertError::NoChildFrameId),
            () if parent.is_empty() => Err(InsertError::NoFrameId),
            () if parent == child => Err(InsertError::SelfTransform),
            () if parent.len().max(child.len()) > limit => Err(InsertError::NameTooLong { limit }),
            () => Ok(()),
        }
    }

    fn find_or_add(&mut self, name: &str) -> Result<FrameId, InsertError> {
        let limit = self.limits.frames;
        let id = self.names.find_or_add(name, limit).ok_or(InsertError::TooManyFrames { limit })?;
        if self.frames.len() < self.names.len() {
            self.frames.resize_with(self.names.len(), Frame::default);
        }
        Ok(id)
    }

    fn insert(&mut self, child: FrameId, sample: Sample, is_static: bool) -> Result<(), InsertError> {
        let (cache_time, most) = (self.cache_time, self.limits.transforms_per_frame.max(1));
        let Some(frame) = self.frames.get_mut(child.index()) else { return Ok(()) };
        let before = frame.history.as_ref().map_or(0, History::len);
        match &mut frame.history {
            Some(history) if !is_static => history.insert(sample, cache_time)?,
            history => *history = Some(History::new(sample, is_static)),
        }
        let after = frame.history.as_mut().map_or(0, |history| {
            while history.len() > most && history.remove_oldest() {}
            history.len()
        });
        self.stored = self.stored - before + after;
        self.bound_stored();
        Ok(())
    }

    /// Removes the oldest transforms of the longest histories beyond the limit. Each frame keeps one.
    fn bound_stored(&mut self) {
        while self.stored > self.limits.transforms {
            let histories = self.frames.iter_mut().filter_map(|frame| frame.history.as_mut());
            let longest = histories.max_by_key(|history| history.len());
            if !longest.is_some_and(History::remove_oldest) {
                return;
            }
            self.stored -= 1;
        }
    }
}

impl fmt::Debug for BufferCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferCore")
            .field("frames", &self.names.len())
            .field("transforms", &self.stored)
            .finish_non_exhaustive()
    }
}

/// A frame's name without a leading slash, which tf had and tf2 has not.
fn without_slash(name: &str) -> &str {
    name.strip_prefix('/').unwrap_or(name)
}

/// The transform with a normalized quaternion.
fn checked(transform: Transform) -> Result<Transform, InsertError> {
    let Transform { translation, rotation } = transform;
    if !translation.is_finite() || !rotation.is_finite() {
        return Err(InsertError::NotFinite);
    }
    if (rotation.norm_squared() - 1.0).abs() >= MAX_NORM_ERROR {
        return Err(InsertError::DenormalizedQuaternion);
    }
    let rotation = rotation.normalized().ok_or(InsertError::DenormalizedQuaternion)?;
    Ok(Transform { translation, rotation })
}
