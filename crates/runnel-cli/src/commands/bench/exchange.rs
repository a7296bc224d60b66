//! Exchanges of messages between two ends, contestant by contestant, in turns.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use runnel_floor::{Stamp, Stamps, Trial};

use super::contestants::{self, Contestant, Introduction};
use super::failure::Failure;
use super::machine;
use super::outcome::{Outcome, Taken};
use super::plan::{Amount, Exchange, Placement};
use super::process::Process;
use super::results::{Case, Run};
use super::room::{Place, Room};

/// How long one run may take, from starting its ends to their having ended.
const WATCHDOG: Duration = Duration::from_secs(30);

/// How long ends may take to write down what they have when a run took too long.
const SALVAGE: Duration = Duration::from_secs(5);

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
    let runs = amount.rounds as usize * cases.len() * contestants.len();
    let mut done = 0;
    for round in 1..=amount.rounds {
        for (case, contestant) in cases.iter().flat_map(|case| contestants.iter().map(move |who| (case, who)))
        {
            done += 1;
            let setting = Setting { exchange, trial: exchange.trial(case.size, amount), case, priority };
            let result = run(&setting, contestant, room);
            if let Err(Failure::Interrupted) = result {
                return Err(Failure::Interrupted);
            }
            let run = Run {
                case: *case,
                contestant: contestant.name,
                round,
                result: result.map_err(|why| why.to_string()),
            };
            room.progress(&format!("[{done}/{runs}] {run}"));
            room.report.add(run);
            room.save()?;
        }
    }
    Ok(())
}

/// The priority that both ends get.
fn priority(exchange: Exchange, room: &mut Room) -> Option<i32> {
    let wanted = exchange.priority()?;
    let Some(why) = machine::priority_refused(wanted) else { return Some(wanted) };
    let letter = exchange.letter();
    room.note(format!(
        "{letter} without real-time priority {wanted}: {why} (needs CAP_SYS_NICE or ulimit -r {wanted})"
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

/// One run, apart from who takes part.
struct Setting<'a> {
    exchange: Exchange,
    trial: Trial,
    case: &'a Case,
    priority: Option<i32>,
}

/// The files of the stamps of one end.
struct Files {
    sent: PathBuf,
    received: PathBuf,
}

impl Files {
    fn new(room: &mut Room) -> Self {
        Self { sent: room.file("sent"), received: room.file("received") }
    }
}

fn run(setting: &Setting<'_>, contestant: &Contestant, room: &mut Room) -> Result<Outcome, Failure> {
    let deadline = Instant::now() + WATCHDOG;
    let namespace = room.namespace();
    let [far_cpu, near_cpu] = setting.case.placement.cpus();
    // Two real-time ends on one CPU would leave nothing of it to the kernel's own work for them.
    let priority = setting.priority.filter(|_| far_cpu != near_cpu);
    let place = |cpu| Place { cpu: Some(cpu), priority, namespace };
    let (far_role, near_role) = roles(setting.exchange);
    let (far_files, near_files) = (Files::new(room), Files::new(room));
    let program = end(setting, contestant, far_role, &far_files);
    let mut far = room.launch(&name(contestant, far_role), &program, place(far_cpu))?;
    let mut program = end(setting, contestant, near_role, &near_files);
    if contestant.introduction == Introduction::Address {
        program.extend(["--peer".into(), far.line_after("at ", deadline)?]);
    }
    let mut near = room.launch(&name(contestant, near_role), &program, place(near_cpu))?;
    far.line_after("ready", deadline)?;
    near.line_after("ready", deadline)?;
    near.say("go")?;
    // The end that has the last message ends by itself; the other one when it is told.
    let waited = match setting.exchange {
        Exchange::PingPong => wait(&mut near, &mut far, deadline),
        Exchange::Queue => wait(&mut far, &mut near, deadline),
    };
    let outcome = read(setting, &near_files, &far_files);
    match (waited, outcome) {
        (Ok(()), outcome) => outcome,
        // What was lost is why it took too long.
        (Err(Failure::TooLate { .. }), Ok(outcome)) if outcome.lost > 0 => Ok(outcome),
        (Err(failure), _) => Err(failure),
    }
}

/// The roles of the end that is started first, and of the one that begins.
fn roles(exchange: Exchange) -> (&'static str, &'static str) {
    match exchange {
        Exchange::PingPong => ("pong", "ping"),
        Exchange::Queue => ("sink", "source"),
    }
}

fn name(contestant: &Contestant, role: &str) -> String {
    format!("{} {role}", contestant.name)
}

/// The command line of an end.
fn end(setting: &Setting<'_>, contestant: &Contestant, role: &str, files: &Files) -> Vec<String> {
    let Trial { size, count, warm_up } = setting.trial;
    let mut command = contestant.program.clone();
    command.push(role.to_owned());
    let numbers = [("--size", size as u64), ("--count", count), ("--warm-up", warm_up)];
    let depth = ("--depth", setting.exchange.depth() as u64);
    command.extend(
        numbers.into_iter().chain([depth]).flat_map(|(name, value)| [name.to_owned(), value.to_string()]),
    );
    let paths = [("--sent", &files.sent), ("--received", &files.received)];
    command.extend(paths.into_iter().flat_map(|(name, path)| [name.to_owned(), path.display().to_string()]));
    command
}

fn wait(last: &mut Process, other: &mut Process, deadline: Instant) -> Result<(), Failure> {
    let ended = last.wait(deadline);
    if let Err(failure @ (Failure::Interrupted | Failure::Ended { .. })) = ended {
        return Err(failure);
    }
    last.close_input();
    other.close_input();
    let deadline = Instant::now() + SALVAGE;
    let others = other.wait(deadline);
    if ended.is_err() {
        last.wait(deadline)?;
    }
    ended.and(others)
}

fn read(setting: &Setting<'_>, near: &Files, far: &Files) -> Result<Outcome, Failure> {
    // A message that came twice takes part as well, but no program fills the memory.
    let limit = setting.trial.total().saturating_mul(2);
    let stamps = |path: &PathBuf| -> Result<Vec<Stamp>, Failure> {
        Stamps::read(path, limit).map_err(Failure::missing("the stamps of an end"))
    };
    let back = match setting.exchange {
        Exchange::PingPong => stamps(&near.received)?,
        Exchange::Queue => Vec::new(),
    };
    let taken = Taken { sent: stamps(&near.sent)?, arrived: stamps(&far.received)?, back };
    Outcome::of(setting.exchange, setting.trial, &taken)
}
