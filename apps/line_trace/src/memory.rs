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

/// A column of the table.
struct Column {
    head: &'static str,
    /// Its width on a terminal.
    width: usize,
    figure: fn(&Memory) -> Option<String>,
}

const COLUMNS: [Column; 4] = [
    Column { head: "resident", width: 11, figure: |memory| Some(megabytes(memory.resident)) },
    Column { head: "shared", width: 11, figure: |memory| Some(megabytes(memory.shared)) },
    Column { head: "Pss", width: 11, figure: |memory| memory.proportional.map(megabytes) },
    Column { head: "threads", width: 9, figure: |memory| Some(memory.threads.to_string()) },
];

/// A label and a cell for each column.
pub type Row = [String; 1 + COLUMNS.len()];

/// The headings, below `label` the labels of the rows.
pub fn heads(label: &str) -> Row {
    row(label, |column| column.head.to_owned())
}

/// The figures of a process.
pub fn figures((name, memory): &Process) -> Row {
    row(name, |column| memory.as_ref().and_then(column.figure).unwrap_or_else(|| "-".to_owned()))
}

fn row(label: &str, cell: impl Fn(&Column) -> String) -> Row {
    std::array::from_fn(|index| match index.checked_sub(1) {
        None => label.to_owned(),
        Some(column) => cell(&COLUMNS[column]),
    })
}

/// The table for the terminal.
pub fn table(processes: &[Process]) -> String {
    let mut text = String::from("Memory of each process at the end of the drive\n");
    push_line(&mut text, &heads(""));
    processes.iter().for_each(|process| push_line(&mut text, &figures(process)));
    text
}

/// Converts the kernel's kilobytes (1024 bytes) to megabytes of 1,000,000 bytes.
fn megabytes(kilobytes: u64) -> String {
    format!("{:.2} MB", kilobytes as f64 * 1.024e-3)
}

fn push_line(text: &mut String, [label, cells @ ..]: &Row) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{label:<32}");
    for (Column { width, .. }, cell) in COLUMNS.iter().zip(cells) {
        let _ = write!(text, "{cell:>width$}");
    }
    text.push('\n');
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
