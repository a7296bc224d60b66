//! Starting a program on a given CPU, so that every contestant is bound in the same way.

use std::os::unix::process::CommandExt;
use std::process::Command;

use runnel::io::{cpu, host};

use crate::error::CliError;

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

/// Becomes the program, which ends with whoever started this.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    host::end_with_parent()?;
    if let Some(cpu) = args.cpu {
        cpu::bind_thread(&[cpu])
            .map_err(|error| CliError::failed(format_args!("cannot run on CPU {cpu}: {error}")))?;
    }
    if let Some(priority) = args.priority {
        cpu::set_real_time_priority(priority)
            .map_err(|error| CliError::failed(format_args!("cannot have priority {priority}: {error}")))?;
    }
    let Some((program, arguments)) = args.program.split_first() else { return Ok(()) };
    let error = Command::new(program).args(arguments).exec();
    Err(CliError::failed(format_args!("cannot start {program}: {error}")))
}
