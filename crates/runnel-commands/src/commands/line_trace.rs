//! `runnel line-trace`, which `runnel demo` starts: one node of the demonstration.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use line_trace::body::Devices;
use line_trace::latency::Log;
use line_trace::nodes::{ControlNode, Recording, TracerNode};
use runnel::{Context, ContextOptions};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::demo::scene::Scene;
use crate::error::CliError;
use crate::streaming::spin_for;

/// Between two times that records are written.
const RECORDS: Duration = Duration::from_millis(250);

/// Run one node of the demonstration until it is told to end
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    role: Role,

    /// Write down when messages passed; standard output if not given
    #[arg(long, global = true, value_name = "FILE")]
    log: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// The robot: simulated in real time with the person who presses its switches, or a real one
    Control {
        #[command(flatten)]
        scene: Scene,

        /// The real Raspberry Pi Mouse whose driver has its files in this folder, /dev as a rule
        #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["track", "start", "seed"])]
        devices: Option<PathBuf>,
    },
    /// The logic that traces the line
    Tracer,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    // Whichever way the demonstration ends, its nodes end with it.
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(io::Error::from)?;
    let mut records: Box<dyn Write> = match &args.log {
        Some(file) => Box::new(File::create(file)?),
        None => Box::new(io::stdout()),
    };
    // The node is to be what the demonstration expects, whatever was typed.
    let context = Context::with_options(ContextOptions::default().arguments([""; 0]))?;
    match &args.role {
        Role::Control { scene, devices } => {
            let node = match devices {
                Some(folder) => ControlNode::new(&context, Devices::open(folder)?, Recording::On)?,
                None => {
                    let body = scene.robot()?;
                    ControlNode::new(&context, body, Recording::On)?
                }
            };
            spin(&context, &mut records, || node.take_log())
        }
        Role::Tracer => {
            let node = TracerNode::new(&context, Recording::On)?;
            spin(&context, &mut records, || node.take_log())
        }
    }
}

/// Runs callbacks until the end, and writes down now and then what was recorded.
fn spin(context: &Context, records: &mut dyn Write, take: impl Fn() -> Log) -> Result<(), CliError> {
    while context.ok() {
        spin_for(context, RECORDS)?;
        // In one piece, for who reads it meanwhile.
        let mut text = Vec::new();
        take().write(&mut text)?;
        records.write_all(&text)?;
        records.flush()?;
    }
    Ok(())
}
