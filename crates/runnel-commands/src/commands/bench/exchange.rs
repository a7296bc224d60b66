//! Exchanges between two ends, contestant by contestant, in turns.

use super::contestants::{self, Contestant};
use super::failure::Failure;
use super::faults::require_own_network;
use super::machine;
use super::outcome::Outcome;
use super::plan::{Amount, Case, Exchange, Placement, Task};
use super::results::Run;
use super::turn::{self, Setting};
use super::workspace::Workspace;

/// Measures an exchange with every contestant, in every placement, in every round.
///
/// # Errors
/// When the user interrupts, or results cannot be saved. A failed run is recorded as such.
pub fn measure(
    exchange: Exchange,
    tasks: Vec<Task>,
    amount: Amount,
    workspace: &mut Workspace,
) -> Result<(), Failure> {
    if let Some(why) =
        tasks.iter().find(|task| task.fault.is_some()).and_then(|_| require_own_network().err())
    {
        workspace.note(format!("{} not measured: {why}", exchange.name()));
        return Ok(());
    }
    let contestants = contestants::ready(exchange, workspace)?;
    let priority = priority(exchange, workspace);
    let turns = turns(tasks, &contestants, workspace);
    if turns.is_empty() {
        workspace.note(format!("{} not measured: no contestant takes part", exchange.name()));
    }
    let rounds = exchange.rounds(amount);
    let runs = rounds as usize * turns.len();
    let mut done = 0;
    for round in 1..=rounds {
        for (task, placement, contestant) in &turns {
            done += 1;
            let setting = Setting { task, placement: *placement, priority };
            let result = turn::run(&setting, contestant, workspace);
            workspace.remove_leftovers();
            if let Err(Failure::Interrupted) = result {
                return Err(Failure::Interrupted);
            }
            for run in runs_of(&task.cases(*placement), contestant.name, round, result) {
                workspace.progress(&format!("[{done}/{runs}] {run}"));
                workspace.report.add(run);
            }
            workspace.save()?;
        }
    }
    Ok(())
}

/// One run for each case.
fn runs_of(
    cases: &[Case],
    contestant: &'static str,
    round: u32,
    result: Result<Vec<Outcome>, Failure>,
) -> Vec<Run> {
    let results: Vec<Result<Outcome, String>> = match result {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
        Err(why) => vec![Err(why.to_string()); cases.len()],
    };
    let run = |(case, result): (&Case, _)| Run { case: *case, contestant, round, result };
    cases.iter().zip(results).map(run).collect()
}

/// The priority of both ends.
fn priority(exchange: Exchange, workspace: &mut Workspace) -> Option<i32> {
    let wanted = exchange.priority()?;
    let Some(why) = machine::priority_refused(wanted) else { return Some(wanted) };
    let name = exchange.name();
    workspace.note(format!(
        "{name} without real-time priority {wanted}: {why} (needs CAP_SYS_NICE or ulimit -r {wanted})"
    ));
    None
}

/// The turns of all contestants in one round, as far as this machine has the CPUs and the memory.
fn turns<'a>(
    tasks: Vec<Task>,
    contestants: &'a [Contestant],
    workspace: &mut Workspace,
) -> Vec<(Task, Placement, &'a Contestant)> {
    let mut turns = Vec::new();
    for placement in placements(workspace) {
        for task in tasks.iter().filter(|task| task.exchange.placements().contains(&placement)) {
            let able = contestants.iter().filter(|contestant| contestant.can(task, placement, workspace));
            let able: Vec<&Contestant> = able.collect();
            if has_memory(task, workspace) {
                turns.extend(able.into_iter().map(|contestant| (task.clone(), placement, contestant)));
            }
        }
    }
    turns
}

/// The placements whose CPUs this process may use.
fn placements(workspace: &mut Workspace) -> Vec<Placement> {
    let mut placements = Vec::new();
    for placement in Placement::ALL {
        match placement.cpus().into_iter().find(|cpu| !workspace.report.machine.cpus.contains(cpu)) {
            Some(cpu) => workspace
                .note(format!("{} not measured: this process may not use CPU {cpu}", placement.name())),
            None => placements.push(placement),
        }
    }
    placements
}

fn has_memory(task: &Task, workspace: &mut Workspace) -> bool {
    let needed = task.memory();
    let free = machine::available_memory().unwrap_or(u64::MAX);
    if free < needed {
        let (free, needed, name, size) = (free >> 20, needed >> 20, task.exchange.name(), task.largest());
        workspace.note(format!(
            "{name} with {size} B not measured: it may take {needed} MiB, and {free} are free"
        ));
    }
    free >= needed
}
