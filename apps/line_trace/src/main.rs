//! Command-line program of the robot: control node and tracer, in one process or in two, without ROS or Python.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use line_trace::body::{Devices, Simulated};
use line_trace::nodes::{ControlNode, Recording, TracerNode, WatcherNode};
use line_trace::operator::Beginning;
use line_trace::track::Track;
use runnel::{Context, ContextOptions, Graphs};

/// How often completed laps are printed.
const PRINT_PERIOD: Duration = Duration::from_millis(100);

const USAGE: &str = "\
usage: line_trace [robot | control | tracer | watch] [--devices DIR | --simulate] [--ros2 | --both] [NAME:=VALUE]...

  robot          the control node and the tracer (default)
  control        only the control node: sensors and switches, wheels, LEDs and buzzer
  tracer         only the tracer
  watch          prints each lap of a simulated robot
  --devices DIR  where the driver of the Raspberry Pi Mouse has its files [/dev]
  --simulate     a simulated robot on a track in place of the real one
  --ros2         join ROS 2 (no master needed) instead of ROS 1; uses ROS_DOMAIN_ID and the other ROS 2 variables
  --both         join ROS 1 and ROS 2, and so reach the nodes of both
  NAME:=VALUE    remappings and parameters of ROS; uses ROS_MASTER_URI and the other ROS 1 variables";

/// The parts to run.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    control: bool,
    tracer: bool,
    watch: bool,
    /// The folder of the driver's files; `None` for a simulated robot.
    devices: Option<PathBuf>,
    graphs: Graphs,
}

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    if arguments.iter().any(|argument| matches!(argument.as_str(), "-h" | "--help")) {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let plan = match plan(arguments.into_iter()) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!("line_trace: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("line_trace: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Parses the arguments, except ROS remappings, which the context parses.
fn plan(arguments: impl Iterator<Item = String>) -> Result<Plan, String> {
    let mut plan = Plan {
        control: true,
        tracer: true,
        watch: false,
        devices: Some("/dev".into()),
        graphs: Graphs::Ros1,
    };
    let choose = |plan: &mut Plan, roles| (plan.control, plan.tracer, plan.watch) = roles;
    let mut arguments = arguments.filter(|argument| !argument.contains(":="));
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "robot" => choose(&mut plan, (true, true, false)),
            "control" => choose(&mut plan, (true, false, false)),
            "tracer" => choose(&mut plan, (false, true, false)),
            "watch" => choose(&mut plan, (false, false, true)),
            "--simulate" => plan.devices = None,
            "--ros2" => plan.graphs = Graphs::Ros2,
            "--both" => plan.graphs = Graphs::Both,
            "--devices" => plan.devices = Some(arguments.next().ok_or("--devices needs a folder")?.into()),
            other => return Err(format!("unknown argument {other:?}")),
        }
    }
    Ok(plan)
}

fn run(plan: &Plan) -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::with_options(ContextOptions::default().graphs(plan.graphs))?;
    let tracer = plan.tracer.then(|| TracerNode::new(&context, Recording::Off)).transpose()?;
    let control = plan.control.then(|| control(&context, plan.devices.as_deref())).transpose()?;
    let nodes = [control.as_ref().map(ControlNode::node), tracer.as_ref().map(TracerNode::node)];
    if let Some(node) = nodes.into_iter().flatten().next() {
        node.install_logger()?;
    }
    if plan.watch { watch(&context) } else { Ok(context.spin()?) }
}

/// The control node of a real robot with the driver's files in `devices`, or of a simulated one.
fn control(context: &Context, devices: Option<&Path>) -> Result<ControlNode, Box<dyn std::error::Error>> {
    Ok(match devices {
        Some(folder) => ControlNode::new(context, Devices::open(folder)?, Recording::Off)?,
        None => {
            let body = Simulated::new(Track::demonstration()?, Beginning::seed(1))?;
            ControlNode::new(context, body, Recording::Off)?
        }
    })
}

/// Prints each lap until shutdown, or until standard output is closed.
fn watch(context: &Context) -> Result<(), Box<dyn std::error::Error>> {
    let watcher = WatcherNode::new(context, Track::demonstration()?.course().clone())?;
    while context.ok() {
        context.spin_once(PRINT_PERIOD)?;
        if watcher.take_laps().iter().any(|lap| writeln!(io::stdout(), "{lap}").is_err()) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(line: &str) -> Result<Plan, String> {
        plan(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn default_is_the_whole_real_robot() {
        let whole = Plan {
            control: true,
            tracer: true,
            watch: false,
            devices: Some("/dev".into()),
            graphs: Graphs::Ros1,
        };
        assert_eq!(planned(""), Ok(whole));
        assert_eq!(planned("robot __ns:=/a --devices /tmp/x").unwrap().devices, Some("/tmp/x".into()));
        let tracer = Plan { control: false, tracer: true, watch: false, devices: None, graphs: Graphs::Ros1 };
        assert_eq!(planned("tracer --simulate"), Ok(tracer));
        assert_eq!(planned("watch --ros2").unwrap().graphs, Graphs::Ros2);
        assert_eq!(planned("--both tracer").unwrap().graphs, Graphs::Both);
    }

    #[test]
    fn unknown_argument_is_refused() {
        assert_eq!(planned("roboter"), Err("unknown argument \"roboter\"".into()));
        assert_eq!(planned("--devices"), Err("--devices needs a folder".into()));
    }
}
