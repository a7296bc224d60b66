//! The test process: exclusive use, and its resources.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::logged::keep_log;

/// Waits for exclusive use of the process, and records log lines.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    keep_log();
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of open descriptors, including the one for this query.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Resident memory in bytes.
pub fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
