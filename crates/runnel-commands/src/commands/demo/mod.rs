//! `runnel demo`

mod display;
mod drive;
pub mod place;
mod process;
mod recording;
mod report;
pub mod scene;
mod screen;
mod usage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use line_trace::track::Track;

use crate::error::CliError;
use crate::session::Session;
use display::Display;
use drive::{Drive, Goal};
use place::Place;
use process::NodeProcess;
use recording::Recording;
use report::Report;
use scene::Scene;

/// Watch a simulated line-tracing robot drive a lap
///
/// A master runs in this process, the robot and its tracer in a process each. At the end there are the latency of
/// their messages, the memory they took, and a page with the path. No ROS is needed, and one that runs is not touched;
/// with --ros2 there is no master, and what runs in the domain sees the robot.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Laps to drive
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    laps: u32,

    #[command(flatten)]
    scene: Scene,

    /// How long a lap may take, the preparation included
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: u64,

    /// Drive in ROS 2 in place of ROS 1, with no master, in the domain of ROS_DOMAIN_ID
    #[arg(long)]
    ros2: bool,

    /// Record what robot and tracer say in this file, a bag for rosbag
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "ros2")]
    record: Option<PathBuf>,

    /// Print lines instead of drawing, also on a terminal
    #[arg(long)]
    headless: bool,

    /// The folder, which must exist, that the page line_trace.html is written to
    #[arg(long, default_value = ".", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    out: PathBuf,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    check_folder(&args.out)?;
    let track = args.scene.track()?;
    let place = Place::prepare(args.ros2)?;
    let watcher = place.watcher()?;
    let recording = args.record.as_deref().map(|file| Recording::begin(&watcher, file)).transpose()?;
    let nodes = start(&place, &args.scene)?;
    let mut drive = Drive::new(&watcher, &track, nodes)?;
    let mut display = Display::begin(session.output, args.headless, (&track, args.scene.name()), &place)?;
    let goal = Goal { laps: args.laps, lap_within: Duration::from_secs(args.deadline) };
    let watched = drive.watch(&watcher, goal, &mut display);
    // The terminal is itself again, before anything is said.
    drop(display);
    watched?;
    let recorded = recording.map(Recording::finish).transpose()?;
    let finished = drive.finish()?;
    let report = Report::new(&finished, write_page(args, &track, &finished)?, recorded);
    session.output.answer(|| report.text(), || report.json())
}

/// The two nodes. The tracer is first, as on the robot, whose switches nobody presses before it runs.
fn start(place: &Place, scene: &Scene) -> Result<[NodeProcess; 2], CliError> {
    let tracer = NodeProcess::start("tracer", &["tracer".into()], place)?;
    let control = [vec!["control".into()], scene.arguments()].concat();
    Ok([NodeProcess::start("control", &control, place)?, tracer])
}

fn check_folder(folder: &Path) -> Result<(), CliError> {
    match folder.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(CliError::Usage(format!("{} is no folder to write the page to", folder.display()))),
        Err(error) => Err(CliError::Failed(format!("folder {}: {error}", folder.display()))),
    }
}

fn write_page(args: &Args, track: &Track, finished: &drive::Finished) -> Result<PathBuf, CliError> {
    let page = args.out.join("line_trace.html");
    let laps = match finished.laps.len() {
        1 => "One lap".to_owned(),
        many => format!("{many} laps"),
    };
    report::write_page(&format!("{laps} of track {}", args.scene.name()), track, finished, &page)
        .map_err(|error| CliError::Failed(format!("{}: {error}", page.display())))?;
    // Where that is does not depend on where who reads this stands.
    Ok(page.canonicalize().unwrap_or(page))
}
