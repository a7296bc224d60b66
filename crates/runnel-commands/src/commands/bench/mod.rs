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
mod room;
mod statistics;
mod summary;
mod table;
mod turn;
mod usage;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use runnel_floor::NUMBER;

use self::failure::Failure;
use self::plan::{Amount, Scenario};
use self::room::Room;
use crate::error::CliError;
use crate::session::Session;

/// Most bytes of a message of `ipc`.
const LARGEST: usize = 64 << 20;

const EXAMPLES: &str = "\
In a network of its own, with nothing else on it:
  unshare -rn bash -c 'ip link set lo up; runnel bench C A footprint'";

/// Measure latency, rate and footprint, beside the floor and roscpp
///
/// Both ends of every contestant run on the same CPUs, in turns, each turn on one CPU and on two. Results are saved
/// as JSON after each run.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// What to measure [default: all]
    #[arg(value_enum, ignore_case = true)]
    scenario: Vec<Scenario>,

    /// Fewer rounds and messages: whether it works, not how fast
    #[arg(long)]
    quick: bool,

    /// Only these contestants
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = PossibleValuesParser::new(names()))]
    only: Vec<String>,

    /// Bytes of the messages of `ipc`; several with commas
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "10", value_parser = size)]
    size: Vec<usize>,

    /// Folder for the results [default: bench/results beside the build]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    out: Option<PathBuf>,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let mut room = Room::open(args, session.output)?;
    let amount = if args.quick { Amount::QUICK } else { Amount::FULL };
    let measured = measure(&scenarios(&args.scenario), amount, &args.size, &mut room);
    let report = room.finish()?;
    if report.is_empty() && measured.is_ok() {
        return Err(CliError::failed("nothing was measured, for the reasons above"));
    }
    session.output.answer(|| table::report(&report), || report.to_json())?;
    match measured {
        // What was finished is shown and saved; being asked to end is no failure.
        Ok(()) | Err(Failure::Interrupted) => Ok(()),
        Err(failure) => Err(CliError::failed(failure)),
    }
}

/// The scenarios that are asked for, each once.
fn scenarios(asked: &[Scenario]) -> Vec<Scenario> {
    Scenario::ALL.into_iter().filter(|scenario| asked.is_empty() || asked.contains(scenario)).collect()
}

/// A size that a message can have: its number has room, and the memory of any machine that is measured.
fn size(text: &str) -> Result<usize, String> {
    let size = text.parse::<usize>().ok().filter(|size| (NUMBER..=LARGEST).contains(size));
    size.ok_or_else(|| format!("a number of bytes from {NUMBER} to {LARGEST}"))
}

fn measure(scenarios: &[Scenario], amount: Amount, sizes: &[usize], room: &mut Room) -> Result<(), Failure> {
    room.start_master()?;
    for scenario in scenarios {
        for exchange in scenario.exchanges() {
            exchange::measure(*exchange, exchange.tasks(amount, sizes), amount, room)?;
        }
        if *scenario == Scenario::Footprint {
            footprint::measure(amount, room)?;
            first::measure(amount, room)?;
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
    fn contestants_and_idle_programs_have_one_name_each() {
        let names = names();
        assert!(names.contains(&"runnel") && names.contains(&"roscpp"));
        assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1));
    }

    #[test]
    fn without_names_every_scenario_is_measured_and_each_only_once() {
        assert_eq!(scenarios(&[]), Scenario::ALL);
        let twice = [Scenario::Queue, Scenario::Queue];
        assert_eq!(scenarios(&twice), [Scenario::Queue]);
    }
}
