//! Guard conditions, as rclcpp has them.

use std::sync::Arc;

use super::{Listeners, Waitable};
use crate::sync::{Class, Mutex, lock};

/// A waitable that any thread triggers, to end another thread's wait.
pub struct GuardCondition {
    is_triggered: Mutex<bool>,
    listeners: Listeners,
}

impl GuardCondition {
    /// One that is not triggered.
    pub fn new() -> Arc<Self> {
        let is_triggered = Mutex::new(Class::GuardCondition, false);
        Arc::new(Self { is_triggered, listeners: Listeners::new() })
    }

    /// Makes it ready.
    pub fn trigger(&self) {
        *lock(&self.is_triggered) = true;
        self.listeners.notify();
    }

    /// True if it was triggered since it was last taken.
    pub fn take(&self) -> bool {
        std::mem::take(&mut *lock(&self.is_triggered))
    }
}

impl Waitable for GuardCondition {
    fn is_ready(&self) -> bool {
        *lock(&self.is_triggered)
    }

    fn listeners(&self) -> &Listeners {
        &self.listeners
    }
}
