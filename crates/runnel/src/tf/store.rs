//! Store behind a buffer: the transforms with their lock, and the waiters for new ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runnel_core::time::Time;
use runnel_msgs::geometry_msgs::msg::TransformStamped;
use runnel_ros1::peer_text::sanitize;
use runnel_tf::{BufferCore, InsertError, TransformError};

use crate::log_output::console;
use crate::ready::{Listeners, Waitable};
use crate::sync::{Class, Mutex, lock};
use crate::time::ros_clock::RosClock;

/// See the module's documentation.
pub(super) struct Store {
    content: Mutex<Content>,
    listeners: Listeners,
    clock: Arc<RosClock>,
    /// Transforms that were refused.
    refused: AtomicU64,
}

struct Content {
    core: BufferCore,
    /// ROS time of the last transform.
    last_update: Time,
}

impl Store {
    pub(super) fn new(core: BufferCore, clock: Arc<RosClock>) -> Arc<Self> {
        let content = Content { core, last_update: Time::default() };
        Arc::new(Self {
            content: Mutex::new(Class::TransformBuffer, content),
            listeners: Listeners::new(),
            clock,
            refused: AtomicU64::new(0),
        })
    }

    /// Reads the transforms. `read` runs no code of the user.
    pub(super) fn read<T>(&self, read: impl FnOnce(&BufferCore) -> T) -> T {
        read(&lock(&self.content).core)
    }

    /// Stores a transform of the program.
    pub(super) fn set(
        &self,
        transform: &TransformStamped,
        authority: &str,
        is_static: bool,
    ) -> Result<(), InsertError> {
        lock(&self.content).core.set_transform(transform, authority, is_static)?;
        self.listeners.notify();
        Ok(())
    }

    /// Removes all transforms that are not static.
    pub(super) fn clear(&self) {
        lock(&self.content).core.clear();
    }

    /// Stores the transforms of a message. Those that are not sound are counted and logged.
    pub(super) fn receive(&self, transforms: &[TransformStamped], authority: &str, is_static: bool) {
        let mut content = lock(&self.content);
        let has_jumped = content.follow(self.clock.now());
        let mut refused = Vec::new();
        let before = content.core.replaced_frames();
        for transform in transforms {
            // A broadcaster may repeat a transform until it has a newer one.
            match content.core.set_transform(transform, authority, is_static) {
                Ok(()) | Err(InsertError::RepeatedData) => {}
                Err(error) => refused.push((error, transform)),
            }
        }
        let replaced = content.core.replaced_frames();
        drop(content);
        self.listeners.notify();
        // Only about twice as many as the last time: a broadcaster may invent frames all the time.
        if before.checked_ilog2() < replaced.checked_ilog2() {
            let authority = sanitize(authority);
            console::warning!(
                "the tf buffer is full: {replaced} frames are replaced by newer ones, the last of broadcaster [{authority}]"
            );
        }
        if has_jumped {
            console::warning!("Detected jump back in time. Clearing the tf buffer.");
        }
        refused.iter().for_each(|(error, transform)| self.note_refused(*error, transform, authority));
    }

    /// Counts a transform that is not sound, and logs it. Since a broadcaster may send nothing else, only counts that
    /// are powers of two are logged.
    fn note_refused(&self, error: InsertError, transform: &TransformStamped, authority: &str) {
        let count = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            let names = [&*transform.header.frame_id, &*transform.child_frame_id, authority];
            let [parent, child, authority] = names.map(sanitize);
            console::warning!(
                "transform from [{child}] to [{parent}] of broadcaster [{authority}] is ignored: {error} \
                 ({count} in total)"
            );
        }
    }
}

impl Content {
    /// Removes transforms if time has jumped back, since they would be newer than all that follow. True if it has.
    fn follow(&mut self, now: Time) -> bool {
        let has_jumped = now < self.last_update;
        if has_jumped {
            self.core.clear();
        }
        self.last_update = now;
        has_jumped
    }
}

/// A transform that a thread or task waits for. It is ready when it is known, or will never be.
pub(super) struct Awaited {
    pub(super) store: Arc<Store>,
    pub(super) target: String,
    pub(super) source: String,
    pub(super) at: Time,
}

impl Awaited {
    /// The transform.
    pub(super) fn look_up(&self) -> Result<TransformStamped, TransformError> {
        self.store.read(|core| core.lookup_transform(&self.target, &self.source, self.at))
    }
}

/// Whether a look-up can succeed when more transforms arrive.
pub(super) fn is_hopeless(error: &TransformError) -> bool {
    matches!(error, TransformError::InvalidArgument { .. })
}

impl Waitable for Awaited {
    fn is_ready(&self) -> bool {
        let checked = self.store.read(|core| core.check_transform(&self.target, &self.source, self.at));
        checked.as_ref().map_or_else(is_hopeless, |()| true)
    }

    fn listeners(&self) -> &Listeners {
        &self.store.listeners
    }
}
