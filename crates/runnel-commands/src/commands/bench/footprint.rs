//! Cost of programs that have little or nothing to do: memory, threads, wake-ups.

use std::fs;
use std::time::Duration;

use serde::Serialize;

use super::compile::{self, Build};
use super::contestants;
use super::failure::Failure;
use super::plan::Amount;
use super::usage::{self, UsageSample};
use super::workspace::{Place, Workspace};

/// How long a program may take to settle before it is measured.
const SETTLING: Duration = Duration::from_secs(3);

/// The programs. The nodes have one publisher and one subscription each, except those of the robot, which works 60
/// times a second.
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
    /// Name of the program.
    pub program: &'static str,
    /// Size of its file, without shared libraries of the system.
    pub file_bytes: u64,
    /// `VmRSS`: all pages in memory, including shared ones.
    pub resident_bytes: u64,
    /// `Pss`: shared pages count in proportion.
    pub proportional_bytes: u64,
    /// Threads at the end.
    pub threads: usize,
    /// How often its threads got a CPU.
    pub context_switches: u64,
    /// Time over which the switches were counted.
    pub seconds: u64,
}

/// Measures each wanted program that is available.
///
/// # Errors
/// When the user interrupts, or results cannot be saved.
pub fn measure(amount: Amount, workspace: &mut Workspace) -> Result<(), Failure> {
    for program in PROGRAMS {
        if !workspace.wants(program) {
            continue;
        }
        match measure_program(program, amount.idle_seconds, workspace) {
            Ok(footprint) => {
                let Footprint { resident_bytes, threads, context_switches, .. } = footprint;
                let megabytes = resident_bytes as f64 / 1e6;
                workspace.progress(&format!(
                    "footprint {program}: {megabytes:.2} MB, threads: {threads}, switches: {context_switches}"
                ));
                workspace.report.footprints.push(footprint);
            }
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(why) => workspace.note(format!("footprint without {program}: {why}")),
        }
        workspace.save()?;
    }
    Ok(())
}

fn measure_program(
    program: &'static str,
    seconds: u64,
    workspace: &mut Workspace,
) -> Result<Footprint, Failure> {
    let command = command(program, workspace)?;
    let namespace = workspace.namespace();
    let mut process = workspace.launch(program, &command, Place { namespace, ..Place::default() })?;
    process.watch(SETTLING)?;
    let before = UsageSample::at(&process)?;
    process.watch(Duration::from_secs(seconds))?;
    let after = UsageSample::at(&process)?;
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

fn command(program: &str, workspace: &mut Workspace) -> Result<Vec<String>, Failure> {
    let folder = &workspace.folder().to_owned();
    if matches!(program, "runnel" | "runnel-static" | "dual-static" | "robot-static") {
        workspace.progress(&format!("building {program} (the first time takes a minute)"));
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
            let mut command = contestants::contestant(program, workspace)?.program;
            command.extend(IDLE_PEER.map(str::to_owned));
            return Ok(command);
        }
        "roscpp" => return Ok(vec![compile::roscpp(folder)?.display().to_string(), "idle".into()]),
        _ => {
            return Ok([workspace.program(), "topic", "echo", "/quiet", "std_msgs/String"]
                .map(str::to_owned)
                .to_vec());
        }
    };
    Ok(vec![path.display().to_string()])
}

#[cfg(test)]
impl Footprint {
    /// Example for tests.
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
