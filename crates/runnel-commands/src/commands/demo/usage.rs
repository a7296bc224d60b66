//! Memory and threads of a process, as the kernel counts them.

use std::fs;

use line_trace::memory::Memory;

/// Memory of the process with this id; `None` if there is none, or `/proc` is not mounted.
pub fn of(process: u32) -> Option<Memory> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    Memory::parse(&status, &rollup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_has_memory_and_threads() {
        let memory = of(std::process::id()).expect("this process");
        assert!(memory.resident > 100 && memory.shared > 0 && memory.threads >= 1, "{memory:?}");
        assert_eq!(of(u32::MAX), None);
    }
}
