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

/// Watch a simulated robot trace a line, and drive it yourself
///
/// A master runs in this process, on port 11311 if that is free, and the robot and its tracer in a process each. On a terminal
/// the robot drives until Ctrl-C, elsewhere one lap. At the end there are the latency of the messages, the memory of each
/// process, and a page with the path. No ROS is needed. The robot obeys every other publisher of /cmd_vel before its tracer, and
/// tells where it is on /odom and /tf. With --ros2 there is no master, and every node in the domain sees the robot.
///
/// Exit code: 0 after the last lap, or after Ctrl-C on a terminal; 1 if the drive failed, or was interrupted elsewhere before its
/// last lap.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Laps to drive, 0 for a drive until Ctrl-C [default: 0 on a terminal, otherwise 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    laps: Option<u32>,

    #[command(flatten)]
    scene: Scene,

    /// How long a lap may take, the preparation included [default: 120 if there is a last lap]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: Option<u64>,

    /// Drive in ROS 2 instead of ROS 1, with no master, in the domain of ROS_DOMAIN_ID
    #[arg(long)]
    ros2: bool,

    /// Record all messages of robot and tracer in this new file, a bag for rosbag; only in ROS 1
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    record: Option<PathBuf>,

    /// Print lines instead of drawing, also on a terminal, and drive one lap
    #[arg(long)]
    headless: bool,

    /// The folder, which must exist, for the page: line_trace.html, or line_trace-2.html and so on if that exists
    #[arg(long, default_value = ".", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    out: PathBuf,
}

/// How long a lap may take where there is a last one.
const LAP_WITHIN: Duration = Duration::from_secs(120);

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    check(args)?;
    let track = args.scene.track()?;
    let place = Place::prepare(args.ros2)?;
    let watcher = place.watcher()?;
    let recording = args.record.as_deref().map(|file| Recording::begin(&watcher, file)).transpose()?;
    let nodes = start(&place, &args.scene)?;
    let mut drive = Drive::new(&watcher, &track, nodes)?;
    let goal = args.goal(args.is_watched(session));
    let mut display = Display::begin(session.output, args.headless, (&track, args.scene.name()), &place)?;
    let watched = drive.watch(&watcher, goal, &mut display);
    // The terminal is itself again, before anything is said.
    drop(display);
    watched?;
    let recorded = recording.map(Recording::finish).transpose()?;
    let finished = drive.finish()?;
    let report = Report::new(&finished, write_page(args, &track, &finished)?, recorded);
    session.output.answer(|| report.text(), || report.json())
}

impl Args {
    /// True if a person watches on a terminal, who ends the drive by Ctrl-C.
    fn is_watched(&self, session: &Session) -> bool {
        !session.output.json && !self.headless && screen::is_terminal()
    }

    fn goal(&self, is_watched: bool) -> Goal {
        let laps = self.laps.unwrap_or(if is_watched { 0 } else { 1 });
        let laps = (laps > 0).then_some(laps);
        let lap_within = self.deadline.map(Duration::from_secs).or(laps.map(|_| LAP_WITHIN));
        Goal { laps, lap_within, may_be_interrupted: is_watched || laps.is_none() }
    }
}

/// The two nodes. The tracer is first, as on the robot, whose switches nobody presses before it runs.
fn start(place: &Place, scene: &Scene) -> Result<[NodeProcess; 2], CliError> {
    let tracer = NodeProcess::start("tracer", &["tracer".into()], place)?;
    let control = [vec!["control".into()], scene.arguments()].concat();
    Ok([NodeProcess::start("control", &control, place)?, tracer])
}

fn check(args: &Args) -> Result<(), CliError> {
    if args.ros2 && args.record.is_some() {
        let why = "--record writes a bag of ROS 1 messages, which there are none of with --ros2. Try: without --ros2";
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
    // An absolute path is good in every folder.
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
    fn drive_has_no_end_on_a_terminal_unless_laps_are_given() {
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
