//! Properties of the machine that decide what can be measured.

use std::fs;
use std::thread;

use runnel_io::cpu;
use serde::Serialize;

/// The machine that figures were taken on.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// CPUs that this process may use.
    pub cpus: Vec<usize>,
    /// The kernel's release.
    pub kernel: String,
}

impl Machine {
    /// This machine, according to the kernel.
    pub fn this() -> Self {
        let status = read("/proc/self/status");
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or("unknown").to_owned(),
            cpus: field(&status, "Cpus_allowed_list").map(cpu_list).unwrap_or_default(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }
}

/// Bytes of memory that programs can still allocate; `None` if the kernel does not say.
pub fn available_memory() -> Option<u64> {
    kibibytes(&read("/proc/meminfo"), "MemAvailable")
}

/// Why programs cannot have this real-time priority, if so.
pub fn priority_refused(priority: i32) -> Option<String> {
    // Tried on a thread of its own, since the priority ends with it.
    let tried = thread::spawn(move || cpu::set_real_time_priority(priority)).join();
    match tried {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(crate::error::plain(&error.to_string())),
        Err(_) => Some("the test failed".to_owned()),
    }
}

/// The value of the first line `name: value` of a text.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let values = text.lines().filter_map(|line| line.split_once(':'));
    values.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()).next()
}

/// The bytes of a line `name: value kB`.
pub fn kibibytes(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A file of `/proc`; empty if it does not exist.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The CPUs of a list such as `0-3,8`.
fn cpu_list(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_may_hold_ranges() {
        assert_eq!(cpu_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(cpu_list("3"), [3]);
        assert_eq!(cpu_list(""), [] as [usize; 0]);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "VmRSS:\t    1234 kB\nRss: 8 kB\nThreads:\t2\n";
        assert_eq!(kibibytes(text, "Rss"), Some(8192));
        assert_eq!(field(text, "Threads"), Some("2"));
        assert_eq!(kibibytes(text, "Threads"), None);
    }

    #[test]
    fn this_machine_has_a_cpu_and_memory() {
        assert!(!Machine::this().cpus.is_empty());
        assert!(available_memory().is_some_and(|bytes| bytes > 0));
    }
}
