//! How long it takes from subscribing to having the message that a running publisher has latched.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::contestants::{self, Contestant, ROSCPP, RUNNEL};
use super::failure::Failure;
use super::plan::Amount;
use super::process::Process;
use super::room::{Place, Room};
use super::statistics::Summary;

/// How long one program may take.
const WATCHDOG: Duration = Duration::from_secs(30);

/// The waits of one contestant, each in a new process.
#[derive(Clone, Debug, Serialize)]
pub struct FirstMessage {
    /// Who subscribes; the publisher is Runnel's for all.
    pub contestant: &'static str,
    /// Processes.
    pub rounds: usize,
    /// From the call that subscribes to the callback.
    pub wait_ns: Summary,
}

/// Measures every contestant, in turns.
///
/// # Errors
/// When the user asks for the end, or results cannot be saved.
pub fn measure(amount: Amount, room: &mut Room) -> Result<(), Failure> {
    let subscribers = subscribers(room);
    if subscribers.is_empty() {
        return Ok(());
    }
    let namespace = room.namespace();
    let publisher = publisher(namespace, room)?;
    let mut waits = vec![Vec::new(); subscribers.len()];
    for _ in 0..amount.rounds {
        for (subscriber, waits) in subscribers.iter().zip(&mut waits) {
            match wait(subscriber, namespace, room) {
                Ok(wait) => waits.push(wait),
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(why) => room.note(format!("first message: {why}")),
            }
        }
    }
    drop(publisher);
    for (Contestant { name: contestant, .. }, waits) in subscribers.into_iter().zip(waits) {
        let rounds = waits.len();
        if let Some(wait_ns) = Summary::of(waits) {
            room.progress(&format!("first message {contestant}: {:.2} ms", wait_ns.p50 as f64 / 1e6));
            room.report.first_messages.push(FirstMessage { contestant, rounds, wait_ns });
        }
    }
    room.save()
}

fn subscribers(room: &mut Room) -> Vec<Contestant> {
    let mut subscribers = Vec::new();
    for name in [RUNNEL, ROSCPP] {
        if room.wants(name) || (name == RUNNEL && room.wants("runnel")) {
            match contestants::contestant(name, room) {
                Ok(contestant) => subscribers.push(contestant),
                Err(why) => room.note(format!("first message without {name}: {why}")),
            }
        }
    }
    subscribers
}

fn publisher(namespace: usize, room: &mut Room) -> Result<Process, Failure> {
    let runnel = contestants::contestant(RUNNEL, room)?;
    let program = [runnel.program, vec!["latched".into()]].concat();
    let mut publisher =
        room.launch("latched publisher", &program, Place { namespace, ..Place::default() })?;
    publisher.line_after("ready", Instant::now() + WATCHDOG)?;
    Ok(publisher)
}

fn wait(subscriber: &Contestant, namespace: usize, room: &mut Room) -> Result<u64, Failure> {
    let program = [subscriber.program.as_slice(), &["first".into()]].concat();
    let deadline = Instant::now() + WATCHDOG;
    let mut process = room.launch(subscriber.name, &program, Place { namespace, ..Place::default() })?;
    let wait = process.line_after("first ", deadline)?;
    process.wait(deadline)?;
    wait.parse().map_err(|_| Failure::Contradiction(format!("{}: {wait} is no time", subscriber.name)))
}

#[cfg(test)]
impl FirstMessage {
    /// For tests of what holds it.
    pub fn example() -> Self {
        let wait_ns =
            Summary { min: 1_200_000, p50: 1_500_000, p99: 2_000_000, max: 2_000_000, mean: 1_550_000.0 };
        Self { contestant: RUNNEL, rounds: 5, wait_ns }
    }
}
