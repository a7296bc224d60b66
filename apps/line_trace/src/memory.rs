//! Memory use of processes, and its table.

use std::fmt::Write;

/// Memory use of a process, from `/proc`, in kB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Resident memory: VmRSS.
    pub resident: u64,
    /// The shared part of it: files and shared memory.
    pub shared: u64,
    /// Proportional set size: Pss. Not every kernel reports it.
    pub proportional: Option<u64>,
    /// Threads.
    pub threads: u64,
}

impl Memory {
    /// Parses `/proc/PID/status` and `/proc/PID/smaps_rollup`; `None` if the first has no memory figures.
    pub fn parse(status: &str, rollup: &str) -> Option<Self> {
        Some(Self {
            resident: number(status, "VmRSS:")?,
            shared: number(status, "RssFile:")? + number(status, "RssShmem:")?,
            proportional: number(rollup, "Pss:"),
            threads: number(status, "Threads:")?,
        })
    }
}

/// A process's name and its memory use, if known.
pub type Process = (String, Option<Memory>);

/// The column headings.
pub const HEADS: [&str; 4] = ["resident", "shared", "Pss", "threads"];

/// The figures of a process for the columns of [`HEADS`].
pub fn figures(memory: Option<Memory>) -> [String; 4] {
    let Some(Memory { resident, shared, proportional, threads }) = memory else {
        return std::array::from_fn(|_| "-".to_owned());
    };
    let proportional = proportional.map_or("-".to_owned(), megabytes);
    [megabytes(resident), megabytes(shared), proportional, threads.to_string()]
}

/// The table for the terminal.
pub fn table(processes: &[Process]) -> String {
    let mut text = String::from("Memory of each process at the end of the drive\n");
    push_line(&mut text, "", &HEADS.map(str::to_owned));
    for (name, memory) in processes {
        push_line(&mut text, name, &figures(*memory));
    }
    text
}

/// Converts the kernel's kilobytes (1024 bytes) to megabytes of 1,000,000 bytes.
fn megabytes(kilobytes: u64) -> String {
    format!("{:.2} MB", kilobytes as f64 * 1.024e-3)
}

fn push_line(text: &mut String, label: &str, [resident, shared, proportional, threads]: &[String; 4]) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{label:<32}{resident:>11}{shared:>11}{proportional:>11}{threads:>9}");
}

/// The number on the line that begins with `key`.
fn number(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "VmHWM:\t 9 kB\nVmRSS:\t    3456 kB\nRssAnon:\t 1 kB\nRssFile:\t 2000 kB\nRssShmem:\t 48 kB\nThreads:\t2\n";

    #[test]
    fn figures_are_found_by_their_keys() {
        let memory = Memory::parse(STATUS, "Pss_Anon: 7 kB\nPss:\t 2500 kB\n").unwrap();
        assert_eq!(memory, Memory { resident: 3456, shared: 2048, proportional: Some(2500), threads: 2 });
        assert_eq!(Memory::parse(STATUS, "").unwrap().proportional, None);
        assert_eq!(Memory::parse("Name: x\n", ""), None);
    }

    #[test]
    fn table_has_one_80_column_line_per_process() {
        let text = table(&[("tracer".into(), Memory::parse(STATUS, "")), ("gone".into(), None)]);
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
        let fields = |start: &str| line(start).split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
        assert_eq!(fields("tracer"), "3.54 MB 2.10 MB - 2");
        assert_eq!(fields("gone"), "- - - -");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
