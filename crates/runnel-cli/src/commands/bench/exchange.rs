//! Exchanges between two ends, contestant by contestant, in turns.

use super::contestants;
use super::failure::Failure;
use super::machine;
use super::outcome::Outcome;
use super::plan::{Amount, Exchange, Placement};
use super::results::{Case, Run};
use super::room::Room;
use super::turn::{self, Setting};

/// How often the memory of a message exists at most: in the sender's queue, the kernel, and the receiver's queue.
const COPIES: u64 = 3;

/// Measures an exchange with every contestant, in every placement, in every round.
///
/// # Errors
/// When the user asks for the end, or results cannot be saved. A run that fails is written down as such.
pub fn measure(exchange: Exchange, amount: Amount, room: &mut Room) -> Result<(), Failure> {
    let contestants = contestants::ready(exchange, room)?;
    let priority = priority(exchange, room);
    let cases = cases(exchange, amount, room);
    let turns: Vec<_> = cases
        .iter()
        .flat_map(|case| contestants.iter().map(move |who| (case, who)))
        .filter(|(case, who)| who.fits(case.placement))
        .collect();
    let runs = amount.rounds as usize * turns.len();
    let mut done = 0;
    for round in 1..=amount.rounds {
        for &(case, contestant) in &turns {
            done += 1;
            let setting = Setting { case, trial: exchange.trial(case.size, amount), priority };
            let result = turn::run(&setting, contestant, room);
            room.remove_leftovers();
            if let Err(Failure::Interrupted) = result {
                return Err(Failure::Interrupted);
            }
            for run in runs_of(case, contestant.name, round, result) {
                room.progress(&format!("[{done}/{runs}] {run}"));
                room.report.add(run);
            }
            room.save()?;
        }
    }
    Ok(())
}

/// The runs of all that was exchanged in one.
fn runs_of(
    case: &Case,
    contestant: &'static str,
    round: u32,
    result: Result<Vec<Outcome>, Failure>,
) -> Vec<Run> {
    let exchanges = case.scenario.by_turns();
    let results: Vec<Result<Outcome, String>> = match result {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
        Err(why) => vec![Err(why.to_string()); exchanges.len()],
    };
    let run = |(scenario, result)| Run { case: Case { scenario, ..*case }, contestant, round, result };
    exchanges.into_iter().zip(results).map(run).collect()
}

/// The priority that both ends get.
fn priority(exchange: Exchange, room: &mut Room) -> Option<i32> {
    let wanted = exchange.priority()?;
    let Some(why) = machine::priority_refused(wanted) else { return Some(wanted) };
    let name = exchange.name();
    room.note(format!(
        "{name} without real-time priority {wanted}: {why} (needs CAP_SYS_NICE or ulimit -r {wanted})"
    ));
    None
}

/// Placements and sizes that this machine has the CPUs and the memory for.
fn cases(exchange: Exchange, amount: Amount, room: &mut Room) -> Vec<Case> {
    let mut cases = Vec::new();
    for placement in Placement::ALL {
        if let Some(cpu) = placement.cpus().into_iter().find(|cpu| !room.report.machine.cpus.contains(cpu)) {
            room.note(format!("{} not measured: this process may not use CPU {cpu}", placement.name()));
            continue;
        }
        for &size in exchange.sizes() {
            let needed =
                exchange.trial(size, amount).count.saturating_mul(size as u64).saturating_mul(COPIES);
            match machine::available_memory() {
                Some(free) if exchange == Exchange::Queue && free < needed => {
                    let (free, needed) = (free >> 20, needed >> 20);
                    room.note(format!(
                        "A with {size} B not measured: it may take {needed} MiB, and {free} are free"
                    ));
                }
                _ => cases.push(Case { scenario: exchange, size, placement }),
            }
        }
    }
    cases
}
