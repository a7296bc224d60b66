//! `runnel line-trace`, which `runnel demo` starts: one node of the demo.

use std::io::{self, Write};
use std::time::Duration;

use clap::Subcommand;
use line_trace::latency::Log;
use line_trace::nodes::{ControlNode, Recording, TracerNode};
use runnel::{Context, ContextOptions, Graphs};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::demo::scene::Scene;
use crate::error::CliError;
use crate::streaming::spin_for;

/// Period of writing records.
const RECORDS: Duration = Duration::from_millis(250);

/// Run one node of the demo until it is terminated, and write records of its messages to standard output
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    role: Role,

    /// In ROS 2 instead of ROS 1
    #[arg(long, global = true)]
    ros2: bool,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// The robot, simulated in real time, and the person who presses its switches
    Control(Scene),
    /// The logic that traces the line
    Tracer,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    // The node ends with the demo, however that ends.
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(io::Error::from)?;
    // Arguments of the shell must not change the node.
    let graphs = if args.ros2 { Graphs::Ros2 } else { Graphs::Ros1 };
    let context = Context::with_options(ContextOptions::default().arguments([""; 0]).graphs(graphs))?;
    match &args.role {
        Role::Control(scene) => {
            let node = ControlNode::new(&context, scene.robot()?, Recording::On)?;
            spin(&context, || node.take_log())
        }
        Role::Tracer => {
            let node = TracerNode::new(&context, Recording::On)?;
            spin(&context, || node.take_log())
        }
    }
}

/// Runs callbacks until the end, and writes the records from time to time.
fn spin(context: &Context, take: impl Fn() -> Log) -> Result<(), CliError> {
    while context.ok() {
        spin_for(context, RECORDS)?;
        // One write per piece, since the demo reads meanwhile.
        let mut text = Vec::new();
        take().write(&mut text)?;
        let mut records = io::stdout().lock();
        records.write_all(&text)?;
        records.flush()?;
    }
    Ok(())
}
