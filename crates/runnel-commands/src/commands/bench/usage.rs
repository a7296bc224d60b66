//! Resources that a running program uses, according to the kernel: memory, CPU time, context switches.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::failure::Failure;
use super::machine::{field, kibibytes};
use super::process::Process;

/// How long ends may take to settle before they are watched.
pub const SETTLING: Duration = Duration::from_secs(2);

/// Cost of a running process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// CPU time of its threads, in thousandths of one CPU.
    pub cpu_per_mille: f64,
    /// Context switches of its threads per second, voluntary or not.
    pub switches_per_second: f64,
    /// `VmRSS` at the end.
    pub resident_bytes: u64,
}

/// Watches programs for this time, all at once. Returns the cost of each.
///
/// # Errors
/// When one ends meanwhile, the kernel does not report, or the user interrupts.
pub fn watch(programs: &mut [&mut Process], span: Duration) -> Result<Vec<Cost>, Failure> {
    for_a_while(programs, SETTLING)?;
    let before = programs.iter().map(|program| UsageSample::at(program)).collect::<Result<Vec<_>, _>>()?;
    for_a_while(programs, span)?;
    programs.iter().zip(&before).map(|(program, before)| cost(program, before)).collect()
}

fn for_a_while(programs: &mut [&mut Process], span: Duration) -> Result<(), Failure> {
    let end = Instant::now() + span;
    programs.iter_mut().try_for_each(|program| program.watch(end.saturating_duration_since(Instant::now())))
}

fn cost(program: &Process, before: &UsageSample) -> Result<Cost, Failure> {
    let after = UsageSample::at(program)?;
    let seconds = after.time.duration_since(before.time).as_secs_f64();
    let Spent { cpu, switches } = after.since(before);
    let unknown = || Failure::Missing("the kernel does not report CPU times (CONFIG_SCHED_INFO)".into());
    let (resident_bytes, _) = memory(program)?;
    Ok(Cost {
        cpu_per_mille: cpu.ok_or_else(unknown)?.as_secs_f64() / seconds * 1e3,
        switches_per_second: switches as f64 / seconds,
        resident_bytes,
    })
}

/// Usage of a thread since it began, or of threads over some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// CPU time in user code and in the kernel; `None` if the kernel does not report it.
    pub cpu: Option<Duration>,
    /// Context switches.
    pub switches: u64,
}

/// Usage of all threads of a process at one time.
#[derive(Debug)]
pub struct UsageSample {
    time: Instant,
    threads: HashMap<String, Spent>,
}

impl UsageSample {
    /// Takes a sample of a program's usage.
    ///
    /// # Errors
    /// When it has ended.
    pub fn at(program: &Process) -> Result<Self, Failure> {
        Self::of(&folder(program))
            .map_err(Failure::missing(format_args!("{}: cannot read its threads", program.name())))
    }

    fn of(process: &Path) -> io::Result<Self> {
        let (time, mut threads) = (Instant::now(), HashMap::new());
        for thread in fs::read_dir(process.join("task"))? {
            let thread = thread?;
            // A thread that has just ended is skipped.
            let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
            let count =
                |name| field(&status, name).and_then(|count| count.parse::<u64>().ok()).unwrap_or_default();
            let switches = count("voluntary_ctxt_switches") + count("nonvoluntary_ctxt_switches");
            let cpu = fs::read_to_string(thread.path().join("schedstat")).ok();
            if cpu.is_none() && !thread.path().exists() {
                continue;
            }
            let spent = Spent { cpu: cpu.as_deref().and_then(on_cpu), switches };
            threads.insert(thread.file_name().to_string_lossy().into_owned(), spent);
        }
        Ok(Self { time, threads })
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Usage of these threads since an earlier sample. A new thread counts in full.
    pub fn since(&self, before: &Self) -> Spent {
        let mut all = Spent { cpu: Some(Duration::ZERO), switches: 0 };
        for (thread, now) in &self.threads {
            let then = before
                .threads
                .get(thread)
                .copied()
                .unwrap_or(Spent { cpu: Some(Duration::ZERO), switches: 0 });
            let on_cpu = now.cpu.zip(then.cpu).map(|(now, then)| now.saturating_sub(then));
            all.cpu = all.cpu.zip(on_cpu).map(|(all, this)| all + this);
            all.switches += now.switches.saturating_sub(then.switches);
        }
        all
    }
}

/// The first number of a `schedstat`: nanoseconds on a CPU.
fn on_cpu(schedstat: &str) -> Option<Duration> {
    Some(Duration::from_nanos(schedstat.split_whitespace().next()?.parse().ok()?))
}

/// A program's resident bytes (`VmRSS`) and proportional bytes (`Pss`).
///
/// # Errors
/// When it has ended, or the kernel does not report.
pub fn memory(program: &Process) -> Result<(u64, u64), Failure> {
    memory_of(&folder(program))
        .map_err(Failure::missing(format_args!("{}: cannot read its memory", program.name())))
}

fn memory_of(process: &Path) -> io::Result<(u64, u64)> {
    let unknown =
        |what: &str| io::Error::new(io::ErrorKind::NotFound, format!("the kernel does not report {what}"));
    let resident = kibibytes(&fs::read_to_string(process.join("status"))?, "VmRSS");
    let proportional = kibibytes(&fs::read_to_string(process.join("smaps_rollup"))?, "Pss");
    Ok((resident.ok_or_else(|| unknown("VmRSS"))?, proportional.ok_or_else(|| unknown("Pss"))?))
}

fn folder(program: &Process) -> PathBuf {
    PathBuf::from(format!("/proc/{}", program.id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::process::tests::shell;

    fn me() -> UsageSample {
        UsageSample::of(Path::new("/proc/self")).unwrap()
    }

    #[test]
    fn own_process_has_memory_and_threads() {
        let (resident, proportional) = memory_of(Path::new("/proc/self")).unwrap();
        assert!(resident >= 100_000 && proportional > 0);
        assert!(me().threads() > 0);
    }

    #[test]
    fn sleeping_thread_is_counted_as_switching() {
        let before = me();
        // A rendezvous channel needs a context switch on at least one side.
        let (ask, asked) = std::sync::mpsc::sync_channel::<()>(0);
        let answering = std::thread::spawn(move || asked.iter().for_each(drop));
        (0..100).for_each(|_| ask.send(()).unwrap());
        let after = me();
        drop(ask);
        answering.join().unwrap();
        assert!(after.since(&before).switches > 0);
    }

    #[test]
    fn work_counts_as_cpu_time() {
        let before = me();
        let deadline = Instant::now() + Duration::from_secs(20);
        // The kernel updates the time at its ticks.
        while me().since(&before).cpu.unwrap() < Duration::from_millis(5) {
            assert!(Instant::now() < deadline, "no work is seen");
        }
    }

    #[test]
    fn watched_programs_have_separate_costs() {
        let (mut busy, mut idle) = (shell("busy", "while :; do :; done"), shell("idle", "read line"));
        let costs = watch(&mut [&mut busy, &mut idle], Duration::from_millis(300)).unwrap();
        assert!(costs[0].cpu_per_mille > 10.0 && costs[0].cpu_per_mille < 1100.0, "{costs:?}");
        assert!(costs[1].cpu_per_mille < 5.0 && costs[1].resident_bytes > 100_000, "{costs:?}");
        busy.forget_errors();
        idle.forget_errors();
    }

    #[test]
    fn new_threads_count_and_ended_ones_do_not() {
        let of = |threads: &[(&str, u64)]| {
            let spent = |count: u64| Spent { cpu: Some(Duration::from_nanos(count * 10)), switches: count };
            let threads = threads.iter().map(|(thread, count)| ((*thread).to_owned(), spent(*count)));
            UsageSample { time: Instant::now(), threads: threads.collect() }
        };
        let (before, mut after) = (of(&[("1", 5), ("2", 9)]), of(&[("1", 7), ("3", 4)]));
        assert_eq!(after.since(&before), Spent { cpu: Some(Duration::from_nanos(60)), switches: 6 });
        after.threads.insert("4".into(), Spent { cpu: None, switches: 1 });
        assert_eq!(after.since(&before), Spent { cpu: None, switches: 7 });
    }

    #[test]
    fn cpu_time_is_the_first_number() {
        assert_eq!(on_cpu("209679 731295 2\n"), Some(Duration::from_nanos(209_679)));
        assert_eq!(on_cpu(""), None);
    }
}
