//! Measures a node that it starts, for `bench/wasm`: `guests/bench_node`, natively or in a host of WebAssembly.

mod exchange;
mod node_process;

use std::error::Error;
use std::io::{self, Read};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use runnel::msgs::raspimouse_msgs::msg::LightSensors;
use runnel::{Context, ContextOptions, Graphs, Node};
use runnel_floor::now;
use runnel_io::cpu;

use node_process::NodeProcess;

type Failure = Box<dyn Error>;

/// Time limit of whatever is waited for.
const LONG: Duration = Duration::from_secs(120);

/// How often that is checked of which no callback knows.
const STEP: Duration = Duration::from_millis(2);

/// Messages that the node of `hold` gets, and their period.
const FED: (usize, Duration) = (100, Duration::from_millis(10));

/// Measures a node that it starts
#[derive(Parser)]
#[command(name = "bench_wasm_driver")]
struct Arguments {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Start `bench_node`, exchange messages with it, and print all times as JSON, in nanoseconds
    Measure(exchange::Args),
    /// Start `tracer`, send it a second of light sensor values, print its process, and end it with standard input
    Hold {
        /// The program and its arguments
        #[arg(last = true, required = true)]
        program: Vec<String>,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().part {
        Part::Measure(args) => exchange::measure(&args),
        Part::Hold { program } => hold(&program),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench_wasm_driver: {error}");
            ExitCode::FAILURE
        }
    }
}

fn hold(program: &[String]) -> Result<(), Failure> {
    let (context, node) = join()?;
    let sensors = node.create_publisher::<LightSensors>("light_sensors", 10)?;
    let mut process = NodeProcess::start(program)?;
    wait(&context, &mut process, "subscription of light_sensors", || {
        (sensors.subscription_count() > 0).then_some(())
    })?;
    for _ in 0..FED.0 {
        sensors.publish(LightSensors { forward_r: 500, forward_l: 500, left: 200, right: 200 })?;
        context.sleep_wall(FED.1)?;
    }
    println!("{}", process.id());
    io::stdin().read_to_end(&mut Vec::new())?;
    process.end()
}

/// A node in ROS 2, which needs no master.
fn join() -> Result<(Context, Node), Failure> {
    let options = ContextOptions::default().arguments([""; 0]).signals(false).graphs(Graphs::Ros2);
    let context = Context::with_options(options)?;
    let node = context.create_node("bench_wasm_driver")?;
    Ok((context, node))
}

/// Runs callbacks until there is what `poll` looks for, which `what` names.
fn wait<T>(
    context: &Context,
    process: &mut NodeProcess,
    what: &str,
    mut poll: impl FnMut() -> Option<T>,
) -> Result<T, Failure> {
    let late = now() + LONG.as_nanos() as u64;
    loop {
        if let Some(found) = poll() {
            return Ok(found);
        }
        if context.spin_once(STEP)? {
            continue;
        }
        process.check()?;
        if now() > late {
            return Err(format!("no {what} within {LONG:?}").into());
        }
    }
}

/// Binds this thread to a CPU, if one is given.
fn bind(number: Option<usize>) -> Result<(), Failure> {
    let Some(number) = number else { return Ok(()) };
    cpu::bind_thread(&[number]).map_err(|error| format!("cannot run on CPU {number}: {error}").into())
}
