//! Time from subscribing to the first message, which a running publisher has latched.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::contestants::{self, Contestant, ROSCPP, RUNNEL};
use super::failure::Failure;
use super::plan::Amount;
use super::process::Process;
use super::statistics::Summary;
use super::workspace::{Place, Workspace};

/// How long one program may take.
const WATCHDOG: Duration = Duration::from_secs(30);

/// The times of one contestant, each from a new process.
#[derive(Clone, Debug, Serialize)]
pub struct FirstMessage {
    /// The subscriber's library; the publisher is always Runnel's.
    pub contestant: &'static str,
    /// Processes.
    pub rounds: usize,
    /// From the call that subscribes to the callback, in nanoseconds.
    pub wait_ns: Summary,
}

/// Measures every contestant, in turns.
///
/// # Errors
/// When the user interrupts, or results cannot be saved.
pub fn measure(amount: Amount, workspace: &mut Workspace) -> Result<(), Failure> {
    let subscribers = subscribers(workspace);
    if subscribers.is_empty() {
        return Ok(());
    }
    let namespace = workspace.namespace();
    let publisher = publisher(namespace, workspace)?;
    let mut waits = vec![Vec::new(); subscribers.len()];
    for _ in 0..amount.rounds {
        for (subscriber, waits) in subscribers.iter().zip(&mut waits) {
            match wait(subscriber, namespace, workspace) {
                Ok(wait) => waits.push(wait),
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(why) => workspace.note(format!("first message: {why}")),
            }
        }
    }
    drop(publisher);
    for (Contestant { name: contestant, .. }, waits) in subscribers.into_iter().zip(waits) {
        let rounds = waits.len();
        if let Some(wait_ns) = Summary::of(waits) {
            workspace.progress(&format!("first message {contestant}: {:.2} ms", wait_ns.p50 as f64 / 1e6));
            workspace.report.first_messages.push(FirstMessage { contestant, rounds, wait_ns });
        }
    }
    workspace.save()
}

fn subscribers(workspace: &mut Workspace) -> Vec<Contestant> {
    let mut subscribers = Vec::new();
    for name in [RUNNEL, ROSCPP] {
        if workspace.wants(name) || (name == RUNNEL && workspace.wants("runnel")) {
            match contestants::contestant(name, workspace) {
                Ok(contestant) => subscribers.push(contestant),
                Err(why) => workspace.note(format!("first message: {name} is left out: {why}")),
            }
        }
    }
    subscribers
}

fn publisher(namespace: usize, workspace: &mut Workspace) -> Result<Process, Failure> {
    let runnel = contestants::contestant(RUNNEL, workspace)?;
    let program = [runnel.program, vec!["latched".into()]].concat();
    let mut publisher =
        workspace.launch("latched publisher", &program, Place { namespace, ..Place::default() })?;
    publisher.line_after("ready", Instant::now() + WATCHDOG)?;
    Ok(publisher)
}

fn wait(subscriber: &Contestant, namespace: usize, workspace: &mut Workspace) -> Result<u64, Failure> {
    let program = [subscriber.program.as_slice(), &["first".into()]].concat();
    let deadline = Instant::now() + WATCHDOG;
    let mut process = workspace.launch(subscriber.name, &program, Place { namespace, ..Place::default() })?;
    let wait = process.line_after("first ", deadline)?;
    process.wait(deadline)?;
    wait.parse().map_err(|_| Failure::Contradiction(format!("{}: {wait} is not a time", subscriber.name)))
}

#[cfg(test)]
impl FirstMessage {
    /// Example for tests.
    pub fn example() -> Self {
        let wait_ns =
            Summary { min: 1_200_000, p50: 1_500_000, p99: 2_000_000, max: 2_000_000, mean: 1_550_000.0 };
        Self { contestant: RUNNEL, rounds: 5, wait_ns }
    }
}
