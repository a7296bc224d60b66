//! What programs cost that have little or nothing to do: memory, threads, wake-ups.

use std::fs;
use std::time::Duration;

use serde::Serialize;

use super::compile::{self, Build};
use super::contestants;
use super::failure::Failure;
use super::plan::Amount;
use super::room::{Place, Room};
use super::usage::{self, Look};

/// How long a program may take to come to rest before it is looked at.
const SETTLING: Duration = Duration::from_secs(3);

/// The programs that are looked at. The nodes have one publisher and one subscription each, but for those of the robot, which
/// works: 60 times a second.
pub const PROGRAMS: [&str; 10] = [
    "runnel",
    "runnel-static",
    "dual-static",
    "robot-static",
    "topic-echo",
    "roscpp",
    "cyclonedds",
    "fastdds",
    "iceoryx2-event",
    "bare-static",
];

/// Command line of the peers' idle ends, behind the program.
const IDLE_PEER: [&str; 5] = ["idle", "--size", "10", "--depth", "10"];

/// One program.
#[derive(Clone, Debug, Serialize)]
pub struct Footprint {
    /// Which.
    pub program: &'static str,
    /// How long its file is; libraries of the system that it takes are not in it.
    pub file_bytes: u64,
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
                    "footprint {program}: {megabytes:.2} MB, threads: {threads}, switches: {context_switches}"
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
    let command = command(program, room)?;
    let namespace = room.namespace();
    let mut process = room.launch(program, &command, Place { namespace, ..Place::default() })?;
    process.watch(SETTLING)?;
    let before = Look::at(&process)?;
    process.watch(Duration::from_secs(seconds))?;
    let after = Look::at(&process)?;
    let (resident_bytes, proportional_bytes) = usage::memory(&process)?;
    // `env` may stand before the program, which is always named by its whole path.
    let file = command.iter().find(|word| word.starts_with('/'));
    let file_bytes = file.and_then(|file| fs::metadata(file).ok()).map_or(0, |file| file.len());
    Ok(Footprint {
        program,
        file_bytes,
        resident_bytes,
        proportional_bytes,
        threads: after.threads(),
        context_switches: after.since(&before).switches,
        seconds,
    })
}

fn command(program: &str, room: &mut Room) -> Result<Vec<String>, Failure> {
    let folder = &room.folder().to_owned();
    if matches!(program, "runnel" | "runnel-static" | "dual-static" | "robot-static") {
        room.progress(&format!("building {program} (the first time takes a minute)"));
    }
    let path = match program {
        "runnel" => compile::idle_node(folder, "idle", Build::Ordinary)?,
        "runnel-static" => compile::idle_node(folder, "idle", Build::Static)?,
        "dual-static" => compile::idle_node(folder, "idle_dual", Build::Static)?,
        "bare-static" => compile::bare(folder)?,
        "robot-static" => {
            let robot = compile::robot(folder, Build::Static)?;
            return Ok(vec![robot.display().to_string(), "--simulate".into()]);
        }
        "cyclonedds" | "fastdds" | "iceoryx2-event" => {
            let mut command = contestants::contestant(program, room)?.program;
            command.extend(IDLE_PEER.map(str::to_owned));
            return Ok(command);
        }
        "roscpp" => return Ok(vec![compile::roscpp(folder)?.display().to_string(), "idle".into()]),
        _ => {
            return Ok([room.program(), "topic", "echo", "/quiet", "std_msgs/String"]
                .map(str::to_owned)
                .to_vec());
        }
    };
    Ok(vec![path.display().to_string()])
}

#[cfg(test)]
impl Footprint {
    /// For tests of what holds it.
    pub fn example() -> Self {
        Self {
            program: "runnel-static",
            file_bytes: 2_300_000,
            resident_bytes: 1_600_000,
            proportional_bytes: 1_500_000,
            threads: 1,
            context_switches: 0,
            seconds: 10,
        }
    }
}
