//! What a process takes of memory and threads, as the kernel counts it.

use std::fs;

/// What a process takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Memory that is resident, in kB: VmRSS.
    pub resident: u64,
    /// The same with pages that several processes map divided among them, in kB: Pss. Not every kernel tells.
    pub proportional: Option<u64>,
    /// Threads.
    pub threads: u64,
}

impl Usage {
    /// Of the process with this id; `None` if there is none, or `/proc` is not mounted.
    pub fn of(process: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
        Some(Self {
            resident: number(&status, "VmRSS:")?,
            proportional: number(&rollup, "Pss:"),
            threads: number(&status, "Threads:")?,
        })
    }
}

/// The number in the line that begins with `key`.
fn number(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_key() {
        let text = "VmHWM:\t 9 kB\nVmRSS:\t    3456 kB\nThreads:\t2\nPss_Anon: 7 kB\n";
        assert_eq!(number(text, "VmRSS:"), Some(3456));
        assert_eq!(number(text, "Threads:"), Some(2));
        assert_eq!(number(text, "Pss:"), None);
    }

    #[test]
    fn this_process_takes_memory_and_has_threads() {
        let usage = Usage::of(std::process::id()).expect("this process");
        assert!(usage.resident > 100 && usage.threads >= 1, "{usage:?}");
        assert_eq!(Usage::of(u32::MAX), None);
    }
}
