//! One turn of one contestant: its ends and its master are started, watched and waited for, and their stamps read.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use runnel_floor::{Stamp, Stamps, Trial};

use super::contestants::{Contestant, Introduction};
use super::failure::Failure;
use super::outcome::{Outcome, Taken};
use super::plan::Exchange;
use super::process::Process;
use super::results::Case;
use super::room::{Place, Room};

/// How long one run may take, from starting its ends to their having ended.
const WATCHDOG: Duration = Duration::from_secs(30);

/// How long ends may take to write down what they have when a run took too long.
const SALVAGE: Duration = Duration::from_secs(5);

/// One run, apart from who takes part.
pub struct Setting<'a> {
    /// What is exchanged first, and where.
    pub case: &'a Case,
    /// How much of each that is exchanged.
    pub trial: Trial,
    /// The real-time priority of both ends.
    pub priority: Option<i32>,
}

impl Setting<'_> {
    fn exchange(&self) -> Exchange {
        self.case.scenario
    }

    /// What the ends do in all: they know nothing of turns but that numbers go on.
    fn whole_trial(&self) -> Trial {
        let turns = self.exchange().by_turns().len() as u64;
        let Trial { size, count, warm_up } = self.trial;
        Trial { size, count: count * turns, warm_up: warm_up * turns }
    }
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

/// Runs a contestant's turn, and gives what came of each that is exchanged by turns.
///
/// # Errors
/// When an end or a master does not do its part, or the user asks for the end.
pub fn run(setting: &Setting<'_>, contestant: &Contestant, room: &mut Room) -> Result<Vec<Outcome>, Failure> {
    let deadline = Instant::now() + WATCHDOG;
    let [far_cpu, near_cpu] = setting.case.placement.cpus();
    // Two real-time ends on one CPU would leave nothing of it to the kernel's own work for them.
    let priority = setting.priority.filter(|_| far_cpu != near_cpu);
    let far_place = Place { cpu: Some(far_cpu), priority, namespace: room.namespace(), master: None };
    let master = match contestant.introduction {
        Introduction::OwnMaster(kind) => Some(kind.start(far_place, deadline, room)?),
        Introduction::Address | Introduction::Master | Introduction::Itself => None,
    };
    let far_place = Place { master: master.as_ref().map(|(_, uri)| uri.as_str()), ..far_place };
    let near_place = Place { cpu: Some(near_cpu), ..far_place };
    let files = [Files::new(room), Files::new(room)];
    let ends = Ends::start(setting, contestant, [far_place, near_place], &files, deadline, room)?;
    let waited = ends.run(setting.exchange(), deadline);
    let outcomes = read(setting, &files);
    match (waited, outcomes) {
        (Ok(()), outcomes) => outcomes,
        // What was lost is why it took too long. A call that is not answered yet is only late.
        (Err(Failure::TooLate { .. }), Ok(outcomes))
            if !setting.exchange().is_call() && outcomes.iter().any(|outcome| outcome.lost > 0) =>
        {
            Ok(outcomes)
        }
        (Err(failure), _) => Err(failure),
    }
}

/// The two ends, or the one where the other is the master.
struct Ends {
    far: Option<Process>,
    near: Process,
}

impl Ends {
    fn start(
        setting: &Setting<'_>,
        contestant: &Contestant,
        [far_place, near_place]: [Place<'_>; 2],
        [far_files, near_files]: &[Files; 2],
        deadline: Instant,
        room: &mut Room,
    ) -> Result<Self, Failure> {
        let (far_role, near_role) = roles(setting.exchange());
        let mut far = match far_role {
            Some(role) => {
                let program = end(setting, contestant, role, far_files);
                Some(room.launch(&name(contestant, role), &program, far_place)?)
            }
            None => None,
        };
        let mut program = end(setting, contestant, near_role, near_files);
        if let (Some(far), Introduction::Address) = (&mut far, contestant.introduction) {
            program.extend(["--peer".into(), far.line_after("at ", deadline)?]);
        }
        let near = room.launch(&name(contestant, near_role), &program, near_place)?;
        Ok(Self { far, near })
    }

    /// Has them exchange what they should, until both have ended.
    fn run(mut self, exchange: Exchange, deadline: Instant) -> Result<(), Failure> {
        for end in self.far.iter_mut().chain([&mut self.near]) {
            end.line_after("ready", deadline)?;
        }
        self.near.say("go")?;
        // The end that has the last message ends by itself; the other one when it is told.
        match (exchange, &mut self.far) {
            (Exchange::Queue, Some(far)) => wait(far, Some(&mut self.near), deadline),
            (_, far) => wait(&mut self.near, far.as_mut(), deadline),
        }
    }
}

/// The roles of the end that is started first, if the master is not that end, and of the one that begins.
fn roles(exchange: Exchange) -> (Option<&'static str>, &'static str) {
    match exchange {
        Exchange::PingPong => (Some("pong"), "ping"),
        Exchange::Queue => (Some("sink"), "source"),
        Exchange::CallOnce => (Some("serve"), "call"),
        Exchange::CallPersistent => (Some("serve"), "call-persistent"),
        Exchange::SetParam | Exchange::GetParam => (None, "param"),
    }
}

fn name(contestant: &Contestant, role: &str) -> String {
    format!("{} {role}", contestant.name)
}

/// The command line of an end.
fn end(setting: &Setting<'_>, contestant: &Contestant, role: &str, files: &Files) -> Vec<String> {
    let Trial { size, count, warm_up } = setting.whole_trial();
    let mut command = contestant.program.clone();
    command.push(role.to_owned());
    let numbers = [("--size", size as u64), ("--count", count), ("--warm-up", warm_up)];
    let depth = ("--depth", setting.exchange().depth() as u64);
    command.extend(
        numbers.into_iter().chain([depth]).flat_map(|(name, value)| [name.to_owned(), value.to_string()]),
    );
    let paths = [("--sent", &files.sent), ("--received", &files.received)];
    command.extend(paths.into_iter().flat_map(|(name, path)| [name.to_owned(), path.display().to_string()]));
    command
}

fn wait(last: &mut Process, mut other: Option<&mut Process>, deadline: Instant) -> Result<(), Failure> {
    let ended = last.wait(deadline);
    if let Err(failure @ (Failure::Interrupted | Failure::Ended { .. })) = ended {
        return Err(failure);
    }
    last.close_input();
    let deadline = Instant::now() + SALVAGE;
    let others = other.as_mut().map_or(Ok(()), |other| {
        other.close_input();
        other.wait(deadline)
    });
    if ended.is_err() {
        last.wait(deadline)?;
    }
    ended.and(others)
}

fn read(setting: &Setting<'_>, [far, near]: &[Files; 2]) -> Result<Vec<Outcome>, Failure> {
    // A message that came twice takes part as well, but no program fills the memory.
    let limit = setting.whole_trial().total().saturating_mul(2);
    let stamps = |path: &PathBuf| -> Result<Vec<Stamp>, Failure> {
        Stamps::read(path, limit).map_err(Failure::missing("the stamps of an end"))
    };
    let exchange = setting.exchange();
    let sent = stamps(&near.sent)?;
    let back = if exchange == Exchange::Queue { Vec::new() } else { stamps(&near.received)? };
    let arrived = if exchange.is_call() { Vec::new() } else { stamps(&far.received)? };
    let taken = Taken { sent, arrived, back };
    let exchanges = exchange.by_turns();
    let turns = taken.turns(exchanges.len());
    exchanges
        .iter()
        .zip(&turns)
        .map(|(exchange, taken)| Outcome::of(*exchange, setting.trial, taken))
        .collect()
}
