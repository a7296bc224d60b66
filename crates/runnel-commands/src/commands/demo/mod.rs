//! `runnel demo`

mod display;
mod drive;
pub mod graph;
mod process;
mod recording;
mod report;
pub mod scene;
mod screen;
mod usage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use line_trace::track::Track;

use crate::cli_context::CliContext;
use crate::error::CliError;
use display::Display;
use drive::{Drive, Goal};
use graph::DemoGraph;
use process::NodeProcess;
use recording::Recording;
use report::Report;
use scene::Scene;

/// Watch a simulated robot follow a line, and drive it yourself
///
/// The robot and its tracer run in a process each, with a master on port 11311 if that is free. On a terminal the
/// robot drives until Ctrl-C, otherwise for one lap. At the end you get message latencies, the memory of each
/// process, and a page with the driven path. No ROS is needed.
///
/// Any other publisher of /cmd_vel takes precedence over the tracer. The robot publishes its position on /odom and
/// /tf. With --ros2 there is no master, and every node in the domain sees the robot.
///
/// Exit code: 0 after the last lap, or after Ctrl-C on a terminal; 1 if the drive failed, or was interrupted without
/// a terminal before its last lap.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Laps to drive, 0 for no end until Ctrl-C [default: 0 on a terminal, otherwise 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    laps: Option<u32>,

    #[command(flatten)]
    scene: Scene,

    /// How long a lap with its preparation may take [default: 120 if there is a last lap]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: Option<u64>,

    /// Drive in ROS 2 instead of ROS 1, without a master, in the domain of ROS_DOMAIN_ID
    #[arg(long)]
    ros2: bool,

    /// Record all messages of robot and tracer in this new file, a bag for rosbag; ROS 1 only
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    record: Option<PathBuf>,

    /// Print lines instead of drawing, also on a terminal, and drive one lap
    #[arg(long)]
    headless: bool,

    /// The folder of the page, which must exist: line_trace.html, or line_trace-2.html and so on if that exists
    #[arg(long, default_value = ".", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    out: PathBuf,
}

/// Time limit of a lap if there is a last one.
const LAP_WITHIN: Duration = Duration::from_secs(120);

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    check(args)?;
    let track = args.scene.track()?;
    let graph = DemoGraph::prepare(args.ros2)?;
    let watcher = graph.watcher()?;
    let recording = args.record.as_deref().map(|file| Recording::begin(&watcher, file)).transpose()?;
    let nodes = start(&graph, &args.scene)?;
    let mut drive = Drive::new(&watcher, &track, nodes)?;
    let goal = args.goal(args.is_watched(cli));
    let mut display = Display::begin(cli.output, args.headless, (&track, args.scene.name()), &graph)?;
    let watched = drive.watch(&watcher, goal, &mut display);
    // Restores the terminal before anything is printed.
    drop(display);
    watched?;
    let recorded = recording.map(Recording::finish).transpose()?;
    let finished = drive.finish(graph.own_role())?;
    let report = Report::new(&finished, write_page(args, &track, &finished)?, recorded);
    cli.output.answer(|| report.text(), || report.json())
}

impl Args {
    /// True if a person watches on a terminal and ends the drive by Ctrl-C.
    fn is_watched(&self, cli: &CliContext) -> bool {
        !cli.output.json && !self.headless && screen::is_terminal()
    }

    fn goal(&self, is_watched: bool) -> Goal {
        let laps = self.laps.unwrap_or(if is_watched { 0 } else { 1 });
        let laps = (laps > 0).then_some(laps);
        let lap_within = self.deadline.map(Duration::from_secs).or(laps.map(|_| LAP_WITHIN));
        Goal { laps, lap_within, may_be_interrupted: is_watched || laps.is_none() }
    }
}

/// The two nodes. The tracer starts first, as on the robot: there it runs before anyone presses a switch.
fn start(graph: &DemoGraph, scene: &Scene) -> Result<[NodeProcess; 2], CliError> {
    let tracer = NodeProcess::start("tracer", &["tracer".into()], graph)?;
    let control = [vec!["control".into()], scene.arguments()].concat();
    Ok([NodeProcess::start("control", &control, graph)?, tracer])
}

fn check(args: &Args) -> Result<(), CliError> {
    if args.ros2 && args.record.is_some() {
        let why = "--record writes a bag of ROS 1 messages, and --ros2 has none. Try: without --ros2";
        return Err(CliError::Usage(why.into()));
    }
    check_folder(&args.out)
}

fn check_folder(folder: &Path) -> Result<(), CliError> {
    match folder.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(CliError::Usage(format!(
            "{} is not a folder: the page cannot be written there",
            folder.display()
        ))),
        Err(error) => Err(CliError::Failed(format!("folder {}: {error}", folder.display()))),
    }
}

fn write_page(args: &Args, track: &Track, finished: &drive::Finished) -> Result<PathBuf, CliError> {
    let laps = match finished.laps.len() {
        0 => "A drive".to_owned(),
        1 => "One lap".to_owned(),
        many => format!("{many} laps"),
    };
    let page =
        report::write_page(&format!("{laps} of track {}", args.scene.name()), track, finished, &args.out)
            .map_err(|(page, error)| CliError::Failed(format!("{}: {error}", page.display())))?;
    // An absolute path is valid in every folder.
    Ok(page.canonicalize().unwrap_or(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(laps: Option<u32>, deadline: Option<u64>, is_watched: bool) -> Goal {
        let scene = Scene::example();
        let args =
            Args { laps, scene, deadline, ros2: false, record: None, headless: false, out: ".".into() };
        args.goal(is_watched)
    }

    #[test]
    fn drive_on_a_terminal_is_endless_by_default() {
        let endless = Goal { laps: None, lap_within: None, may_be_interrupted: true };
        assert_eq!(goal(None, None, true), endless);
        assert_eq!(goal(Some(0), None, false), endless);
        let one = Goal { laps: Some(1), lap_within: Some(LAP_WITHIN), may_be_interrupted: false };
        assert_eq!(goal(None, None, false), one);
        let three = Goal { laps: Some(3), lap_within: Some(LAP_WITHIN), may_be_interrupted: true };
        assert_eq!(goal(Some(3), None, true), three);
        assert_eq!(goal(None, Some(3), true).lap_within, Some(Duration::from_secs(3)));
    }
}
