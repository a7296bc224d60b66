//! `runnel line-trace`, which `runnel demo` starts: one node of the demonstration.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use clap::Subcommand;
use line_trace::latency::Log;
use line_trace::nodes::{ControlNode, TracerNode};
use line_trace::track::Track;
use runnel::{Context, ContextOptions};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::error::CliError;

/// Run one node of the demonstration until it is told to end
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    role: Role,

    /// Write down when messages passed, at the end; standard output if not given
    #[arg(long, global = true, value_name = "FILE")]
    log: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// The robot, simulated in real time, with the person who presses its switches
    Control {
        /// What chance is drawn from
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// The logic that traces the line
    Tracer,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    // Whichever way the demonstration ends, its nodes end with it.
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(io::Error::from)?;
    // The node is to be what the demonstration expects, whatever was typed.
    let context = Context::with_options(ContextOptions::default().arguments([""; 0]))?;
    let log = match args.role {
        Role::Control { seed } => {
            let track = Track::demonstration().map_err(CliError::failed)?;
            let node = ControlNode::new(&context, track, seed)?;
            context.spin()?;
            node.log()
        }
        Role::Tracer => {
            let node = TracerNode::new(&context)?;
            context.spin()?;
            node.log()
        }
    };
    write(&log, args.log.as_ref())
}

fn write(log: &Log, file: Option<&PathBuf>) -> Result<(), CliError> {
    match file {
        Some(file) => log.write(BufWriter::new(File::create(file)?))?,
        None => log.write(BufWriter::new(io::stdout().lock()))?,
    }
    Ok(())
}
