//! What programs cost that have nothing to do: memory, threads, wake-ups.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::compile::{self, Build};
use super::failure::Failure;
use super::machine::{field, kibibytes};
use super::plan::Amount;
use super::room::{Place, Room};

/// How long a program may take to come to rest before it is looked at.
const SETTLING: Duration = Duration::from_secs(3);

/// The programs that are looked at. The nodes have one publisher and one subscription each.
pub const PROGRAMS: [&str; 5] = ["runnel", "runnel-static", "topic-echo", "roscpp", "bare-static"];

/// One idle program.
#[derive(Clone, Debug, Serialize)]
pub struct Footprint {
    /// Which.
    pub program: &'static str,
    /// `VmRSS`: the pages that are in memory, those shared with others included.
    pub resident_bytes: u64,
    /// `Pss`: of pages that are shared, this program's part only.
    pub proportional_bytes: u64,
    /// Threads at the end.
    pub threads: usize,
    /// How often its threads were given a CPU, by their own wish or not.
    pub context_switches: u64,
    /// The time in which those were counted.
    pub seconds: u64,
}

/// Looks at every program that is wanted and can be had.
///
/// # Errors
/// When the user asks for the end, or results cannot be saved.
pub fn measure(amount: Amount, room: &mut Room) -> Result<(), Failure> {
    for program in PROGRAMS {
        if !room.wants(program) {
            continue;
        }
        match look_at(program, amount.idle_seconds, room) {
            Ok(footprint) => {
                let Footprint { resident_bytes, threads, context_switches, .. } = footprint;
                let megabytes = resident_bytes as f64 / 1e6;
                room.progress(&format!(
                    "footprint {program}: {megabytes:.2} MB, {threads} threads, {context_switches} switches"
                ));
                room.report.footprints.push(footprint);
            }
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(why) => room.note(format!("footprint without {program}: {why}")),
        }
        room.save()?;
    }
    Ok(())
}

fn look_at(program: &'static str, seconds: u64, room: &mut Room) -> Result<Footprint, Failure> {
    room.start_master()?;
    let command = command(program, room)?;
    let namespace = room.namespace();
    let mut process = room.launch(program, &command, Place { namespace, ..Place::default() })?;
    process.watch(SETTLING)?;
    let folder = format!("/proc/{}", process.id());
    let switches = |folder: &Path| {
        switches(folder).map_err(Failure::missing(format_args!("{program}: context switches")))
    };
    let before = switches(folder.as_ref())?;
    process.watch(Duration::from_secs(seconds))?;
    let after = switches(folder.as_ref())?;
    let memory = memory(folder.as_ref()).map_err(Failure::missing(format_args!("{program}: memory")))?;
    Ok(Footprint {
        program,
        resident_bytes: memory.0,
        proportional_bytes: memory.1,
        threads: after.len(),
        context_switches: between(&before, &after),
        seconds,
    })
}

fn command(program: &str, room: &Room) -> Result<Vec<String>, Failure> {
    let folder = room.folder();
    if matches!(program, "runnel" | "runnel-static") {
        room.progress(&format!("building {program} (the first time takes a minute)"));
    }
    let path = match program {
        "runnel" => compile::idle_node(folder, Build::Ordinary)?,
        "runnel-static" => compile::idle_node(folder, Build::Static)?,
        "bare-static" => compile::bare(folder)?,
        "roscpp" => return Ok(vec![compile::roscpp(folder)?.display().to_string(), "idle".into()]),
        _ => {
            return Ok([room.program(), "topic", "echo", "/quiet", "std_msgs/String"]
                .map(str::to_owned)
                .to_vec());
        }
    };
    Ok(vec![path.display().to_string()])
}

/// Resident and proportional bytes.
fn memory(process: &Path) -> io::Result<(u64, u64)> {
    let not_told =
        |what: &str| io::Error::new(io::ErrorKind::NotFound, format!("the kernel does not tell {what}"));
    let resident = kibibytes(&fs::read_to_string(process.join("status"))?, "VmRSS");
    let proportional = kibibytes(&fs::read_to_string(process.join("smaps_rollup"))?, "Pss");
    Ok((resident.ok_or_else(|| not_told("VmRSS"))?, proportional.ok_or_else(|| not_told("Pss"))?))
}

/// The context switches of each thread since it began.
fn switches(process: &Path) -> io::Result<HashMap<String, u64>> {
    let mut switches = HashMap::new();
    for thread in fs::read_dir(process.join("task"))? {
        let thread = thread?;
        // A thread that has just ended is none of those that stay.
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        let count =
            |name| field(&status, name).and_then(|count| count.parse::<u64>().ok()).unwrap_or_default();
        let sum = count("voluntary_ctxt_switches") + count("nonvoluntary_ctxt_switches");
        switches.insert(thread.file_name().to_string_lossy().into_owned(), sum);
    }
    Ok(switches)
}

/// The switches between two looks: all of a thread that is new.
fn between(before: &HashMap<String, u64>, after: &HashMap<String, u64>) -> u64 {
    let since = |(thread, count): (&String, &u64)| {
        count.saturating_sub(before.get(thread).copied().unwrap_or_default())
    };
    after.iter().map(since).sum()
}

#[cfg(test)]
impl Footprint {
    /// For tests of what holds it.
    pub fn example() -> Self {
        Self {
            program: "runnel-static",
            resident_bytes: 1_600_000,
            proportional_bytes: 1_500_000,
            threads: 1,
            context_switches: 0,
            seconds: 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_threads() {
        let me = Path::new("/proc/self");
        let (resident, proportional) = memory(me).unwrap();
        assert!(resident >= 100_000 && proportional > 0);
        assert!(!switches(me).unwrap().is_empty());
    }

    #[test]
    fn a_thread_that_sleeps_is_seen_to_switch() {
        let me = Path::new("/proc/self");
        let before = switches(me).unwrap();
        // A rendezvous needs a switch on one side at least.
        let (ask, asked) = std::sync::mpsc::sync_channel::<()>(0);
        let answering = std::thread::spawn(move || asked.iter().for_each(drop));
        (0..100).for_each(|_| ask.send(()).unwrap());
        let after = switches(me).unwrap();
        drop(ask);
        answering.join().unwrap();
        assert!(between(&before, &after) > 0);
    }

    #[test]
    fn switches_of_new_threads_count_and_those_of_ended_ones_do_not() {
        let of = |pairs: &[(&str, u64)]| {
            pairs.iter().map(|(thread, count)| ((*thread).to_owned(), *count)).collect()
        };
        let (before, after) = (of(&[("1", 5), ("2", 9)]), of(&[("1", 7), ("3", 4)]));
        assert_eq!(between(&before, &after), 6);
    }
}
