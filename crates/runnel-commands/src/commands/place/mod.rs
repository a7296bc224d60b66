//! `runnel place`: nodes move between hosts by rules.

mod condition;
mod duration;
mod engine;
mod measure;
mod quantity;
mod report;
mod rules;
mod schedule;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueHint;
use runnel_io::clock;

use self::condition::Now;
use self::engine::Engine;
use self::measure::Meter;
use self::rules::Rules;
use self::schedule::LocalTime;
use super::migrate;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};
use crate::output::{Output, counted};
use crate::streaming::Ending;

/// How often rules are evaluated.
const PERIOD: Duration = Duration::from_secs(1);

/// How often a dry run looks whether all is measured, and for how long.
const DRY_RUN_PERIOD: Duration = Duration::from_millis(200);
const DRY_RUN_TIME: Duration = Duration::from_secs(5);

/// Moves a node to a host. A node that is there already stays, and that is a success.
type MoveNode = Box<dyn Fn(&str, &str) -> Result<(), CliError> + Send>;

/// Move nodes in WebAssembly between hosts by rules: load, battery, link quality, time of day
///
/// It runs until Ctrl-C, and prints a line for each move, with the measured values that caused it. The rules are a file in
/// TOML, which docs/placement.md describes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The rules
    #[arg(value_hint = ValueHint::FilePath)]
    rules: PathBuf,

    /// Print where nodes would be by what is measured now, and why, and move none
    #[arg(long, visible_alias = "explain")]
    dry_run: bool,

    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let failed = |why: String| CliError::failed(format!("{}: {why}", args.rules.display()));
    let text = fs::read_to_string(&args.rules).map_err(|error| failed(error.to_string()))?;
    let rules = Rules::parse(&text).map_err(failed)?;
    let snapshot = GraphSnapshot::open_running(cli, args.filter, &args.discovery)?;
    let context = snapshot.context();
    let node = cli.node(context, "place")?;
    let meter = Meter::new(rules.quantities(), (context, &node), cli)?;
    let nodes = counted(rules.nodes.len(), "node");
    let move_node = mover(&rules);
    let (engine, ending) = (Engine::new(rules), Ending::of(context));
    let _timer = if args.dry_run {
        let mut dry_run = DryRun { engine, meter, begun: Instant::now(), output: cli.output };
        let end = ending.clone();
        node.create_wall_timer(DRY_RUN_PERIOD, move || match dry_run.report() {
            Ok(false) => {}
            Ok(true) => end.complete(),
            Err(error) => end.check(Err(error)),
        })
    } else {
        cli.output.note(&format!("placing {nodes}, until Ctrl-C"));
        let mut watch = Watch { engine, meter, move_node, output: cli.output };
        let end = ending.clone();
        node.create_wall_timer(PERIOD, move || end.check(watch.turn()))
    };
    ending.wait()
}

/// Moves nodes from wherever they are among the hosts of the rules.
fn mover(rules: &Rules) -> MoveNode {
    let of_node = |node: &rules::NodeRules| {
        let homes = std::iter::once(node.home.clone());
        homes.chain(node.rules.iter().map(|rule| rule.to.clone())).collect::<Vec<_>>()
    };
    let mut hosts: Vec<String> = rules.nodes.iter().flat_map(of_node).collect();
    hosts.sort();
    hosts.dedup();
    Box::new(move |node, to| migrate::move_node(node, to, &hosts))
}

fn now() -> Now {
    let local = LocalTime::of_date(clock::local_date(clock::realtime()));
    Now { steady: Instant::now(), local }
}

/// Moves nodes.
struct Watch {
    engine: Engine,
    meter: Meter,
    move_node: MoveNode,
    output: Output,
}

impl Watch {
    fn turn(&mut self) -> Result<(), CliError> {
        let now = now();
        let measurements = self.meter.measure(now.steady);
        for wanted in self.engine.update(now, &measurements) {
            let moved = (self.move_node)(&wanted.node, &wanted.to);
            if moved.is_ok() {
                self.engine.handle_moved(&wanted);
            }
            report::moved(self.output, &wanted, moved.err().as_ref())?;
        }
        Ok(())
    }
}

/// Explains once, when all is measured or time is up.
struct DryRun {
    engine: Engine,
    meter: Meter,
    begun: Instant,
    output: Output,
}

impl DryRun {
    /// Returns whether it has explained.
    fn report(&mut self) -> Result<bool, CliError> {
        let now = now();
        let measurements = self.meter.measure(now.steady);
        let is_time_up = self.begun.elapsed() >= DRY_RUN_TIME;
        if !is_time_up && !self.meter.is_complete(&measurements, now.steady) {
            return Ok(false);
        }
        report::explained(self.output, &self.engine.explain(now, &measurements))?;
        Ok(true)
    }
}
