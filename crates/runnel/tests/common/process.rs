//! The test process: its exclusive use, and what it has in use.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::logged::keep_log;

/// Lets one test of the process run at a time, with what is logged kept.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    keep_log();
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Descriptors that the process has open, with the one that this takes.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Bytes of memory that the process has in use.
pub fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
