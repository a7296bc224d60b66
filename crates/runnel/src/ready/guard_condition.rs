//! Guard conditions, as in rclcpp.

use std::sync::Arc;

use super::{Listeners, Waitable};
use crate::sync::{Class, Mutex, lock};

/// A waitable that any thread can trigger to end another thread's wait.
pub struct GuardCondition {
    is_triggered: Mutex<bool>,
    listeners: Listeners,
}

impl GuardCondition {
    /// Creates a guard condition that is not triggered.
    pub fn new() -> Arc<Self> {
        let is_triggered = Mutex::new(Class::GuardCondition, false);
        Arc::new(Self { is_triggered, listeners: Listeners::new() })
    }

    /// Makes the guard condition ready.
    pub fn trigger(&self) {
        *lock(&self.is_triggered) = true;
        self.listeners.notify();
    }

    /// Resets the guard condition. True if it was triggered since the last reset.
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
