//! Exclusive use of the test process.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::logged::keep_log;

/// Lets one test of the process run at a time, with what is logged kept.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    keep_log();
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
