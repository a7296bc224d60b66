//! `runnel demo`

mod display;
mod drive;
mod process;
mod report;
mod usage;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use line_trace::track::Track;
use runnel::ros1::rpc::Uri;
use runnel::{Context, ContextOptions, MasterOptions};

use crate::error::CliError;
use crate::session::Session;
use display::Display;
use drive::{Drive, Goal};
use process::NodeProcess;
use report::Report;

/// Watch a simulated line-tracing robot drive a lap
///
/// A master runs in this process, the robot and its tracer in a process each. At the end there are the latency of
/// their messages, the memory they took, and a picture of the path. No ROS is needed, and any that runs is left alone.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Laps to drive
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    laps: u32,

    /// What chance is drawn from: the sensors' gains and noise, and how exactly the robot is set down
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// How long a lap may take, the preparation included
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: u64,

    /// The folder that the picture line_trace.png is written to
    #[arg(long, default_value = ".", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    out: PathBuf,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    check_folder(&args.out)?;
    let track = Track::demonstration().map_err(CliError::failed)?;
    // The master serves to the very end, so it has a context that no signal stops.
    let master = context(false, "http://127.0.0.1:1/")?;
    let uri = master.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, 0)))?;
    let watcher = context(true, &uri.to_string())?;
    let mut display = Display::new(session.output);
    display.begin(&uri)?;
    let nodes = start(&uri, args.seed)?;
    let mut drive = Drive::new(&watcher, &track, nodes)?;
    let goal = Goal { laps: args.laps, lap_within: Duration::from_secs(args.deadline) };
    drive.watch(&watcher, goal, &mut display)?;
    display.end();
    let finished = drive.finish()?;
    let report = Report::new(&finished, write_picture(&track, &finished, &args.out)?);
    session.output.answer(|| report.text(), || report.json())
}

/// The two nodes. The tracer is first, as on the robot, whose switches nobody presses before it runs.
fn start(master: &Uri, seed: u64) -> Result<[NodeProcess; 2], CliError> {
    let tracer = NodeProcess::start("tracer", &["tracer".into()], master)?;
    let control =
        NodeProcess::start("control", &["control".into(), "--seed".into(), seed.to_string()], master)?;
    Ok([control, tracer])
}

/// A context on loopback for this master, whatever the environment says.
fn context(signals: bool, master: &str) -> Result<Context, CliError> {
    let arguments = vec![format!("__master:={master}"), "__ip:=127.0.0.1".into(), "__ns:=/".into()];
    Ok(Context::with_options(ContextOptions::default().arguments(arguments).signals(signals))?)
}

fn check_folder(folder: &Path) -> Result<(), CliError> {
    match folder.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(CliError::Usage(format!("{} is no folder to write the picture to", folder.display()))),
        Err(error) => Err(CliError::Failed(format!("folder {}: {error}", folder.display()))),
    }
}

fn write_picture(track: &Track, finished: &drive::Finished, folder: &Path) -> Result<PathBuf, CliError> {
    let picture = folder.join("line_trace.png");
    report::write_picture(track, finished, &picture)
        .map_err(|error| CliError::Failed(format!("{}: {error}", picture.display())))?;
    // Where that is does not depend on where who reads this stands.
    Ok(picture.canonicalize().unwrap_or(picture))
}
