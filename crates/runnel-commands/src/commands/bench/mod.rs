//! `runnel bench`
//!
//! ```text
//!  plan ─► exchange ─► turn ─► outcome ─► results (JSON, saved after each run) ─► table
//!             │          └ starts and watches ends (process, usage) and masters, the same way for every contestant
//!  footprint ─┘ idle programs, and the wait for a first message
//! ```

mod compile;
mod contestants;
mod exchange;
mod failure;
mod faults;
mod first;
mod footprint;
mod leftovers;
mod machine;
mod masters;
mod outcome;
mod plan;
mod process;
mod published;
mod results;
mod statistics;
mod summary;
mod table;
mod turn;
mod usage;
mod workspace;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use runnel_floor::NUMBER;

use self::failure::Failure;
use self::plan::{Amount, Scenario};
use self::workspace::Workspace;
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Most bytes of a message in scenario `ipc`.
const LARGEST: usize = 64 << 20;

const EXAMPLES: &str = "\
In a network of its own, with nothing else on it:
  unshare -rn bash -c 'ip link set lo up; runnel bench C A footprint'";

/// Measure latency, rate and footprint, compared with the floor and roscpp
///
/// Both ends of every contestant run on the same CPUs, in turns: on one CPU and on two. Results are saved as JSON
/// after each run.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// What to measure [default: all]
    #[arg(value_enum, ignore_case = true)]
    scenario: Vec<Scenario>,

    /// Fewer rounds and messages: shows whether it works, not how fast
    #[arg(long)]
    quick: bool,

    /// Rounds of each contestant, instead of each scenario's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,

    /// Only these contestants
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = PossibleValuesParser::new(names()))]
    only: Vec<String>,

    /// Bytes of the messages in scenario ipc; several with commas
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "10", value_parser = size)]
    size: Vec<usize>,

    /// Folder for the results [default: bench/results next to the build]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    out: Option<PathBuf>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let mut workspace = Workspace::open(args, cli.output)?;
    let amount = if args.quick { Amount::QUICK } else { Amount::FULL };
    let amount = args.rounds.map_or(amount, |rounds| Amount { rounds, long_rounds: rounds, ..amount });
    let measured = measure(&scenarios(&args.scenario), amount, &args.size, &mut workspace);
    let report = workspace.finish()?;
    if report.is_empty() && measured.is_ok() {
        return Err(CliError::failed("nothing was measured; the lines above say why"));
    }
    cli.output.answer(|| table::report(&report), || report.to_json())?;
    match measured {
        // Finished runs are shown and saved; an interrupt is no failure.
        Ok(()) | Err(Failure::Interrupted) => Ok(()),
        Err(failure) => Err(CliError::failed(failure)),
    }
}

/// The requested scenarios, each once.
fn scenarios(asked: &[Scenario]) -> Vec<Scenario> {
    Scenario::ALL.into_iter().filter(|scenario| asked.is_empty() || asked.contains(scenario)).collect()
}

/// A message size: at least its number, at most what any machine has memory for.
fn size(text: &str) -> Result<usize, String> {
    let size = text.parse::<usize>().ok().filter(|size| (NUMBER..=LARGEST).contains(size));
    size.ok_or_else(|| format!("a number of bytes from {NUMBER} to {LARGEST}"))
}

fn measure(
    scenarios: &[Scenario],
    amount: Amount,
    sizes: &[usize],
    workspace: &mut Workspace,
) -> Result<(), Failure> {
    workspace.start_master()?;
    for scenario in scenarios {
        for exchange in scenario.exchanges() {
            exchange::measure(*exchange, exchange.tasks(amount, sizes), amount, workspace)?;
        }
        if *scenario == Scenario::Footprint {
            footprint::measure(amount, workspace)?;
            first::measure(amount, workspace)?;
        }
    }
    Ok(())
}

/// The names that `--only` takes: contestants of exchanges and idle programs, each once.
fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = contestants::names().collect();
    names.extend(
        footprint::PROGRAMS.iter().filter(|program| !contestants::names().any(|name| name == **program)),
    );
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contestant_and_program_names_are_unique() {
        let names = names();
        assert!(names.contains(&"runnel") && names.contains(&"roscpp"));
        assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1));
    }

    #[test]
    fn every_scenario_is_measured_once_by_default() {
        assert_eq!(scenarios(&[]), Scenario::ALL);
        let twice = [Scenario::Queue, Scenario::Queue];
        assert_eq!(scenarios(&twice), [Scenario::Queue]);
    }
}
