//! Starts a program on a given CPU, so that every contestant is bound in the same way.

use std::os::unix::process::CommandExt;
use std::process::Command;

use runnel_io::cpu;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};

use crate::{Failure, failed};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The CPU to run on, numbered from 0; any if not given
    #[arg(long)]
    cpu: Option<usize>,
    /// Real-time priority, 1 to 99; the ordinary scheduling if not given
    #[arg(long)]
    priority: Option<i32>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<String>,
}

/// Limit on CPU time without blocking for a program of real-time priority, in seconds. The kernel then ends it: such
/// a program starves every other on its CPU, including the bench.
const GREED: u64 = 2;

/// Limit on total CPU time, in seconds; as long as a run may take.
const SHARE: u64 = 30;

/// Replaces this process by the program. The kernel kills it when the starting thread ends, so that nothing is left
/// even if the parent is killed.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    allow_descriptors()?;
    if let Some(cpu) = args.cpu {
        cpu::bind_thread(&[cpu]).map_err(|error| failed(format_args!("cannot run on CPU {cpu}: {error}")))?;
    }
    if let Some(priority) = args.priority {
        limit(Resource::Rttime, GREED * 1_000_000)?;
        limit(Resource::Cpu, SHARE)?;
        cpu::set_real_time_priority(priority)
            .map_err(|error| failed(format_args!("cannot have priority {priority}: {error}")))?;
    }
    let Some((program, arguments)) = args.program.split_first() else { return Ok(()) };
    let error = Command::new(program).args(arguments).exec();
    Err(failed(format_args!("cannot start {program}: {error}")))
}

/// Raises the limit of descriptors to the maximum: a thousand topics need more than the default.
fn allow_descriptors() -> Result<(), Failure> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        .map_err(|error| failed(format_args!("cannot have more descriptors: {error}")))
}

fn limit(resource: Resource, most: u64) -> Result<(), Failure> {
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
        .map_err(|error| failed(format_args!("cannot limit its CPU time: {error}")))
}
