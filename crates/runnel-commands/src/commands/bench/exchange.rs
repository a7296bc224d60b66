//! Exchanges between two ends, contestant by contestant, in turns.

use super::contestants::{self, Contestant};
use super::failure::Failure;
use super::faults::require_own_network;
use super::machine;
use super::outcome::Outcome;
use super::plan::{Amount, Case, Exchange, Placement, Task};
use super::results::Run;
use super::room::Room;
use super::turn::{self, Setting};

/// Measures an exchange with every contestant, in every placement, in every round.
///
/// # Errors
/// When the user asks for the end, or results cannot be saved. A run that fails is written down as such.
pub fn measure(exchange: Exchange, tasks: Vec<Task>, amount: Amount, room: &mut Room) -> Result<(), Failure> {
    if let Some(why) =
        tasks.iter().find(|task| task.fault.is_some()).and_then(|_| require_own_network().err())
    {
        room.note(format!("{} not measured: {why}", exchange.name()));
        return Ok(());
    }
    let contestants = contestants::ready(exchange, room)?;
    let priority = priority(exchange, room);
    let turns = turns(tasks, &contestants, room);
    if turns.is_empty() {
        room.note(format!("{} not measured: nobody takes part", exchange.name()));
    }
    let rounds = exchange.rounds(amount);
    let runs = rounds as usize * turns.len();
    let mut done = 0;
    for round in 1..=rounds {
        for (task, placement, contestant) in &turns {
            done += 1;
            let setting = Setting { task, placement: *placement, priority };
            let result = turn::run(&setting, contestant, room);
            room.remove_leftovers();
            if let Err(Failure::Interrupted) = result {
                return Err(Failure::Interrupted);
            }
            for run in runs_of(&task.cases(*placement), contestant.name, round, result) {
                room.progress(&format!("[{done}/{runs}] {run}"));
                room.report.add(run);
            }
            room.save()?;
        }
    }
    Ok(())
}

/// The runs of all cases of one.
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

/// Every contestant's turns in one round, as far as this machine has the CPUs and the memory.
fn turns<'a>(
    tasks: Vec<Task>,
    contestants: &'a [Contestant],
    room: &mut Room,
) -> Vec<(Task, Placement, &'a Contestant)> {
    let mut turns = Vec::new();
    for placement in placements(room) {
        for task in tasks.iter().filter(|task| task.exchange.placements().contains(&placement)) {
            let able = contestants.iter().filter(|contestant| contestant.can(task, placement, room));
            let able: Vec<&Contestant> = able.collect();
            if has_memory(task, room) {
                turns.extend(able.into_iter().map(|contestant| (task.clone(), placement, contestant)));
            }
        }
    }
    turns
}

/// Those that this process has the CPUs for.
fn placements(room: &mut Room) -> Vec<Placement> {
    let mut placements = Vec::new();
    for placement in Placement::ALL {
        match placement.cpus().into_iter().find(|cpu| !room.report.machine.cpus.contains(cpu)) {
            Some(cpu) => {
                room.note(format!("{} not measured: this process may not use CPU {cpu}", placement.name()))
            }
            None => placements.push(placement),
        }
    }
    placements
}

fn has_memory(task: &Task, room: &mut Room) -> bool {
    let needed = task.memory();
    let free = machine::available_memory().unwrap_or(u64::MAX);
    if free < needed {
        let (free, needed, name, size) = (free >> 20, needed >> 20, task.exchange.name(), task.largest());
        room.note(format!(
            "{name} with {size} B not measured: it may take {needed} MiB, and {free} are free"
        ));
    }
    free >= needed
}
