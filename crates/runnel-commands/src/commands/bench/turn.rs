//! One turn of one contestant: starts, watches and waits for its ends and its master, and reads the stamps.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use runnel_floor::{Stamp, Stamps, Trial, now};

use super::contestants::{Contestant, Introduction};
use super::failure::Failure;
use super::faults::{ActiveFault, Fault};
use super::outcome::{Costs, Outcome, RunStamps, last_of};
use super::plan::{BEFORE_CUT, Exchange, Figure, Placement, Task};
use super::process::Process;
use super::usage;
use super::workspace::{Place, Workspace};

/// How long ends may take to write their stamps after a time-out.
const SALVAGE: Duration = Duration::from_secs(5);

/// The conditions of one run.
pub struct Setting<'a> {
    /// What the ends do.
    pub task: &'a Task,
    /// Where.
    pub placement: Placement,
    /// The real-time priority of all ends.
    pub priority: Option<i32>,
}

/// Runs a contestant's turn. Returns the outcome of each of its cases.
///
/// # Errors
/// When an end or a master fails, or the user interrupts.
pub fn run(
    setting: &Setting<'_>,
    contestant: &Contestant,
    workspace: &mut Workspace,
) -> Result<Vec<Outcome>, Failure> {
    let task = setting.task;
    let deadline = Instant::now() + task.timeout() + task.duration();
    let master = match contestant.introduction {
        Introduction::OwnMaster(kind) => {
            let [cpu, _] = setting.placement.cpus();
            Some(kind.start(setting.place(cpu, 0), deadline, workspace)?)
        }
        Introduction::Address | Introduction::Master | Introduction::Bridge | Introduction::Itself => None,
    };
    let uri = master.as_ref().map(|(_, uri)| uri.as_str());
    let start = |_| Group::start(setting, contestant, uri, deadline, workspace);
    let mut groups = (0..task.pairs.unwrap_or(1)).map(start).collect::<Result<Vec<_>, _>>()?;
    let mut healed_at = None;
    let waited = exchange(task, &mut groups, deadline, &mut healed_at, workspace);
    let outcomes = read(task, &groups, healed_at);
    match (waited, outcomes) {
        (Ok(costs), outcomes) => outcomes.map(|outcomes| with_costs(outcomes, costs)),
        // Lost messages explain the time-out. A call without an answer may only be late.
        (Err(Failure::TooLate { .. }), Ok(outcomes))
            if !task.exchange.is_call() && outcomes.iter().any(|outcome| outcome.lost > 0) =>
        {
            Ok(outcomes)
        }
        (Err(failure), _) => Err(failure),
    }
}

impl<'a> Setting<'a> {
    fn place(&self, cpu: usize, namespace: usize) -> Place<'a> {
        // Two real-time ends on one CPU would leave no time for the kernel's own work.
        let priority = self.priority.filter(|_| self.placement == Placement::TwoCores);
        Place { cpu: Some(cpu), priority, namespace, master: None }
    }
}

/// One end, and the files of its stamps.
struct End {
    role: Role,
    process: Process,
    sent: PathBuf,
    received: PathBuf,
}

impl End {
    /// Whether it exits by itself after the last message.
    fn has_the_last(&self) -> bool {
        !matches!(self.role, "pong" | "source" | "talker" | "para-in" | "para-add" | "serve")
    }
}

/// Ends that exchange messages only with each other. The last one begins.
struct Group {
    ends: Vec<End>,
    /// The bridge between them.
    _bridge: Option<Process>,
}

type Role = &'static str;

impl Group {
    fn start(
        setting: &Setting<'_>,
        contestant: &Contestant,
        master: Option<&str>,
        deadline: Instant,
        workspace: &mut Workspace,
    ) -> Result<Self, Failure> {
        let namespace = workspace.namespace();
        let [far_cpu, near_cpu] = setting.placement.cpus();
        let (mut ends, mut addresses) = (Vec::new(), Vec::new());
        let stages = stages(setting.task);
        let bridge_place = Place { master, ..setting.place(far_cpu, namespace) };
        let is_bridged = contestant.introduction == Introduction::Bridge;
        let bridge = is_bridged.then(|| start_bridge(bridge_place, workspace)).transpose()?;
        for (index, (role, count)) in stages.iter().copied().enumerate() {
            // The far CPU is that of the ends next to the one that begins.
            let cpu = if (stages.len() - index) % 2 == 1 { near_cpu } else { far_cpu };
            let place = Place { master, ..setting.place(cpu, namespace) };
            let peers = std::mem::take(&mut addresses);
            for _ in 0..count {
                let mut end = launch(setting.task, contestant, (role, &peers), place, workspace)?;
                if contestant.introduction == Introduction::Address && index + 1 < stages.len() {
                    addresses.push(end.process.line_after("at ", deadline)?);
                }
                ends.push(end);
            }
        }
        Ok(Self { ends, _bridge: bridge })
    }

    /// The end that begins.
    fn near(&mut self) -> Option<&mut End> {
        self.ends.last_mut()
    }
}

/// The roles of the ends in their starting order, with the number of each. Each end connects to all ends of the stage
/// before. The last stage begins.
fn stages(task: &Task) -> Vec<(Role, usize)> {
    match task.exchange {
        Exchange::PingPong
        | Exchange::Ipc
        | Exchange::Flow
        | Exchange::FlowPairs
        | Exchange::Topics
        | Exchange::Bridge
        | Exchange::Reliable
        | Exchange::BestEffort => {
            vec![("pong", 1), ("ping", 1)]
        }
        Exchange::Queue
        | Exchange::Rates
        | Exchange::Sizes
        | Exchange::Subscribers
        | Exchange::Idle
        | Exchange::Loss
        | Exchange::Large
        | Exchange::Blackout => {
            vec![("sink", task.subscribers.unwrap_or(1)), ("source", 1)]
        }
        Exchange::Hello => vec![("listener", 1), ("talker", 1)],
        Exchange::Chain => vec![("add", 1), ("para-add", 1), ("para-in", 1)],
        Exchange::CallOnce => vec![("serve", 1), ("call", 1)],
        Exchange::CallPersistent | Exchange::Ros2Call => vec![("serve", 1), ("call-persistent", 1)],
        Exchange::SetParam | Exchange::GetParam => vec![("param", 1)],
    }
}

/// Starts a bridge for the topics of ping-pong.
fn start_bridge(place: Place<'_>, workspace: &mut Workspace) -> Result<Process, Failure> {
    let command = [workspace.program(), "bridge", "--topics", "ping", "pong"];
    workspace.launch("bridge", &command.map(str::to_owned), place)
}

/// Starts an end with the addresses of its peers.
fn launch(
    task: &Task,
    contestant: &Contestant,
    (role, peers): (Role, &[String]),
    place: Place<'_>,
    workspace: &mut Workspace,
) -> Result<End, Failure> {
    let (sent, received) = (workspace.file("sent"), workspace.file("received"));
    let Trial { size, count, warm_up } = task.whole_trial();
    let mut program = contestant.program.clone();
    program.push(role.to_owned());
    let depth = task.exchange.depth() as u64;
    for (name, value) in
        [("--size", size as u64), ("--count", count), ("--warm-up", warm_up), ("--depth", depth)]
    {
        program.extend([name.to_owned(), value.to_string()]);
    }
    for (name, path) in [("--sent", &sent), ("--received", &received)] {
        program.extend([name.to_owned(), path.display().to_string()]);
    }
    program.extend(task.options());
    program.extend(peers.iter().flat_map(|peer| ["--peer".to_owned(), peer.clone()]));
    let process = workspace.launch(&format!("{} {role}", contestant.name), &program, place)?;
    Ok(End { role, process, sent, received })
}

/// Runs the exchange until all ends have exited. Returns their costs if they are watched.
fn exchange(
    task: &Task,
    groups: &mut [Group],
    deadline: Instant,
    healed_at: &mut Option<u64>,
    workspace: &mut Workspace,
) -> Result<Option<Costs>, Failure> {
    for end in groups.iter_mut().flat_map(|group| &mut group.ends) {
        end.process.line_after("ready", deadline)?;
    }
    let _active_fault = match task.fault {
        Some(Fault::Lossy(percent)) => Some(ActiveFault::lossy(percent, workspace)?),
        Some(Fault::Cut(_)) | None => None,
    };
    let mut costs = if task.rate.is_none() { watch(task, groups)? } else { None };
    for near in groups.iter_mut().filter_map(Group::near) {
        near.process.say("go")?;
    }
    if task.rate.is_some() {
        costs = watch(task, groups)?;
    }
    if let Some(Fault::Cut(away)) = task.fault {
        *healed_at = Some(cut(away, groups)?);
    }
    wait(&mut groups.iter_mut().flat_map(|group| &mut group.ends).collect::<Vec<_>>(), deadline)?;
    Ok(costs)
}

/// Cuts the network for a while. Returns when it was back, in nanoseconds of `CLOCK_MONOTONIC`.
fn cut(away: Duration, groups: &mut [Group]) -> Result<u64, Failure> {
    let mut watch =
        |span| groups.iter_mut().find_map(Group::near).map_or(Ok(()), |end| end.process.watch(span));
    watch(BEFORE_CUT)?;
    let active_fault = ActiveFault::cut()?;
    watch(away)?;
    drop(active_fault);
    Ok(now())
}

/// Watches the two ends of the first group, if the task says so.
fn watch(task: &Task, groups: &mut [Group]) -> Result<Option<Costs>, Failure> {
    let (Some(span), Some(group)) = (task.watched, groups.first_mut()) else { return Ok(None) };
    let mut ends: Vec<&mut Process> = group.ends.iter_mut().map(|end| &mut end.process).collect();
    let costs = usage::watch(&mut ends, span)?;
    Ok(costs
        .first()
        .zip(costs.last())
        .map(|(receiver, sender)| Costs { receiver: *receiver, sender: *sender }))
}

fn with_costs(mut outcomes: Vec<Outcome>, costs: Option<Costs>) -> Vec<Outcome> {
    outcomes.iter_mut().for_each(|outcome| outcome.costs = costs);
    outcomes
}

/// Waits for the ends that exit after the last message, then closes the input of the others and waits for them.
fn wait(ends: &mut [&mut End], deadline: Instant) -> Result<(), Failure> {
    let mut waited = Ok(());
    for end in ends.iter_mut().filter(|end| end.has_the_last()) {
        match end.process.wait(deadline) {
            Err(failure @ (Failure::Interrupted | Failure::Ended { .. })) => return Err(failure),
            ended => waited = waited.and(ended),
        }
    }
    ends.iter_mut().for_each(|end| end.process.close_input());
    let salvaged = Instant::now() + SALVAGE;
    for end in ends {
        end.process.wait(salvaged)?;
    }
    waited
}

/// The outcome of each case, all groups together.
fn read(task: &Task, groups: &[Group], healed_at: Option<u64>) -> Result<Vec<Outcome>, Failure> {
    let of_group = |group: &Group| {
        let run_stamps = run_stamps(task, group)?;
        let cases = task.cases(Placement::OneCore);
        let of = |(case, run_stamps): (_, &RunStamps)| {
            let healed = healed_at.and_then(|at| run_stamps.first_after(at));
            Ok(Outcome { healed, ..Outcome::of(case, task.trial(), run_stamps)? })
        };
        let cases = cases.into_iter().map(|case| case.exchange);
        cases.zip(&run_stamps.parts(task)).map(of).collect::<Result<Vec<_>, _>>()
    };
    let mut outcomes = Vec::<Outcome>::new();
    for group in groups {
        let these = of_group(group)?;
        outcomes.resize_with(these.len(), Outcome::default);
        outcomes.iter_mut().zip(these).for_each(|(outcome, this)| outcome.join(this));
    }
    Ok(outcomes)
}

/// The stamps of a group's ends.
fn run_stamps(task: &Task, group: &Group) -> Result<RunStamps, Failure> {
    // Duplicates are stamped too, but no program may fill the memory.
    let limit = task.whole_trial().total().saturating_mul(2);
    let stamps = |path: &PathBuf| -> Result<Vec<Stamp>, Failure> {
        Stamps::read(path, limit).map_err(Failure::missing("cannot read the time stamps of a process"))
    };
    let Some((near, far)) = group.ends.split_last() else { return Ok(RunStamps::default()) };
    let sent = stamps(&near.sent)?;
    let back = match task.exchange.figure() {
        Figure::RoundTrip => stamps(&near.received)?,
        Figure::Rate | Figure::OneWay | Figure::Cpu => Vec::new(),
    };
    let receiving = far.iter().filter(|end| end.role != "para-add" && end.role != "serve");
    let arrived = receiving.map(|end| stamps(&end.received)).collect::<Result<Vec<_>, _>>()?;
    Ok(RunStamps { arrived: last_of(arrived), back, ..RunStamps::sent(sent, task.rate) })
}
