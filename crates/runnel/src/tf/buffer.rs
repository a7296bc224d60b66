//! Buffer of transforms, from which a program looks them up.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use runnel_core::time::Time;
use runnel_msgs::geometry_msgs::msg::TransformStamped;
use runnel_tf::{BufferCore, FrameInfo, InsertError, TransformError, Transformable};

use super::store::{Awaited, Store, is_hopeless};
use crate::context::Context;
use crate::ready::Waitable;
use crate::runtime::shared::Shared;
use crate::runtime::task_waiter::TaskWaiter;
use crate::runtime::wait_set::WaitSet;

/// A buffer of transforms. A [`TransformListener`](crate::tf::TransformListener) fills it; it may also be filled with
/// [`set_transform`](Self::set_transform). Handles are cheap to clone and may be used on any thread.
///
/// A look-up takes microseconds and waits for nothing but the storing of a message.
#[derive(Clone)]
pub struct Buffer {
    store: Arc<Store>,
    shared: Arc<Shared>,
}

impl Buffer {
    /// Creates a buffer that keeps transforms for 10 s.
    pub fn new(context: &Context) -> Self {
        Self::with_core(context, BufferCore::default())
    }

    /// Creates a buffer that keeps transforms for this time.
    pub fn with_cache_time(context: &Context, cache_time: Duration) -> Self {
        Self::with_core(context, BufferCore::new(cache_time))
    }

    /// Creates a buffer with the transforms, the cache time and the limits of `core`.
    pub fn with_core(context: &Context, core: BufferCore) -> Self {
        let shared = Arc::clone(&context.shared);
        Self { store: Store::new(core, Arc::clone(&shared.clock)), shared }
    }

    /// The transform that takes coordinates in frame `source` to frame `target`, at a time. At time
    /// [`LATEST`](crate::tf::LATEST) (0), all transforms between the frames are used at the latest time at which all
    /// are known.
    ///
    /// # Errors
    /// Why it is not known now: see [`TransformError`].
    pub fn lookup_transform(
        &self,
        target: &str,
        source: &str,
        at: Time,
    ) -> Result<TransformStamped, TransformError> {
        self.store.read(|core| core.lookup_transform(target, source, at))
    }

    /// The transform that takes coordinates in frame `source` at time `source_time` to frame `target` at time
    /// `target_time`, where frame `fixed` has not moved between these times.
    ///
    /// ```no_run
    /// # use runnel::tf::Buffer;
    /// # fn with(buffer: &Buffer, now: runnel::Time, seen: runnel::Time) -> Result<(), runnel::tf::TransformError> {
    /// // Where is now, seen from the robot, what the camera saw a while ago?
    /// let robot_from_camera = buffer.lookup_transform_full(("robot", now), ("camera", seen), "odom")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`lookup_transform`](Self::lookup_transform).
    pub fn lookup_transform_full(
        &self,
        target: (&str, Time),
        source: (&str, Time),
        fixed: &str,
    ) -> Result<TransformStamped, TransformError> {
        self.store.read(|core| core.lookup_transform_full(target, source, fixed))
    }

    /// Whether [`lookup_transform`](Self::lookup_transform) has an answer now.
    pub fn can_transform(&self, target: &str, source: &str, at: Time) -> bool {
        self.store.read(|core| core.can_transform(target, source, at))
    }

    /// As [`can_transform`](Self::can_transform), with the reason if there is no answer.
    ///
    /// # Errors
    /// As [`lookup_transform`](Self::lookup_transform).
    pub fn check_transform(&self, target: &str, source: &str, at: Time) -> Result<(), TransformError> {
        self.store.read(|core| core.check_transform(target, source, at))
    }

    /// Waits until a transform is known, at most for `timeout` of real time, and returns it. Callbacks may wait, too.
    ///
    /// # Errors
    /// Why it is not known after that time or when the context ends; at once if a frame name is not valid.
    pub fn wait_for_transform(
        &self,
        target: &str,
        source: &str,
        at: Time,
        timeout: Duration,
    ) -> Result<TransformStamped, TransformError> {
        let awaited = Arc::new(self.awaited(target, source, at));
        let mut wait_set = WaitSet::of(&self.shared);
        wait_set.add(Arc::clone(&awaited));
        // The look-up says what is missing, which also is the answer when the context ends.
        let _ = wait_set.wait(Some(timeout));
        awaited.look_up()
    }

    /// [`wait_for_transform`](Self::wait_for_transform) for tasks, without a time limit: use that of the async runtime.
    /// The task's waker must only schedule the task: see [`PendingResponse`](crate::PendingResponse#wakers).
    ///
    /// # Errors
    /// If a frame name is not valid; why the transform is not known when the context ends.
    pub fn wait_for_transform_async(
        &self,
        target: &str,
        source: &str,
        at: Time,
    ) -> impl Future<Output = Result<TransformStamped, TransformError>> + Send + Unpin + use<> {
        let awaited = Arc::new(self.awaited(target, source, at));
        let entity: Arc<dyn Waitable> = Arc::<Awaited>::clone(&awaited);
        let mut waiter = TaskWaiter::new(&self.shared, vec![entity]);
        poll_fn(move |task| {
            waiter.register(task);
            match awaited.look_up() {
                Err(error) if waiter.ok() && !is_hopeless(&error) => Poll::Pending,
                result => Poll::Ready(result),
            }
        })
    }

    /// The latest time at which all transforms between two frames are known; 0 if all are static.
    ///
    /// # Errors
    /// Why there is none.
    pub fn latest_common_time(&self, target: &str, source: &str) -> Result<Time, TransformError> {
        self.store.read(|core| core.latest_common_time(target, source))
    }

    /// The message in frame `target`, by the transform at the message's time; a message of time 0 takes the latest. For
    /// the messages that [`Transformable`] names, and those of the program that implement it.
    ///
    /// # Errors
    /// As [`lookup_transform`](Self::lookup_transform).
    pub fn transform<M: Transformable>(&self, message: &M, target: &str) -> Result<M, TransformError> {
        let header = message.header();
        let found = self.lookup_transform(target, &header.frame_id, header.stamp)?;
        let mut message = message.clone();
        message.apply(&found.transform.into());
        *message.header_mut() = found.header;
        Ok(message)
    }

    /// Stores a transform that `authority` has determined.
    ///
    /// # Errors
    /// The variants of [`InsertError`]: a frame name is empty or names both frames, a number is not finite, the
    /// quaternion has not the length 1, the transform is too old or known already, or a limit of the buffer is reached.
    pub fn set_transform(
        &self,
        transform: &TransformStamped,
        authority: &str,
        is_static: bool,
    ) -> Result<(), InsertError> {
        self.store.set(transform, authority, is_static)
    }

    /// Removes all transforms that are not static. The buffer does so itself when it receives a message after ROS time
    /// has jumped back.
    pub fn clear(&self) {
        self.store.clear();
    }

    /// All frames, in the order in which they became known.
    pub fn frames(&self) -> Vec<FrameInfo> {
        self.store.read(BufferCore::frames)
    }

    /// What is known of a frame.
    pub fn frame(&self, name: &str) -> Option<FrameInfo> {
        self.store.read(|core| core.frame(name))
    }

    /// The frames from the source to the target, each the parent or a child of the one before.
    ///
    /// # Errors
    /// Why there is no path.
    pub fn frames_between(&self, target: &str, source: &str) -> Result<Vec<String>, TransformError> {
        self.store.read(|core| core.frames_between(target, source))
    }

    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    fn awaited(&self, target: &str, source: &str, at: Time) -> Awaited {
        let store = Arc::clone(&self.store);
        Awaited { store, target: target.to_owned(), source: source.to_owned(), at }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.read(|core| f.debug_struct("Buffer").field("core", core).finish_non_exhaustive())
    }
}
