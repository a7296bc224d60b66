//! Ends of the bench's exchanges on iceoryx2. bench/README.md describes the protocol between an end and the bench.
//!
//! ```text
//! runnel-bench-iceoryx2 event|poll ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE]
//!   [--rate HZ] [--watermark N] [--sizes B,B,..] [--topics N] [--subscribers N] [--touch none|write|read]
//! runnel-bench-iceoryx2 event idle --size BYTES --depth N
//! ```

mod flow;
mod idle;
mod options;
mod pairs;
mod small;
mod stamps;
mod streams;
mod talk;
mod topic;

use std::error::Error;
use std::process::ExitCode;

use self::options::Options;

fn main() -> ExitCode {
    match Options::read().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    match options.role.as_str() {
        "ping" if options.watermark > 0 => flow::ping(options),
        "ping" => pairs::ping(options),
        "pong" => pairs::pong(options),
        "source" => streams::source(options),
        "sink" => streams::sink(options),
        "talker" => small::talker(options),
        "listener" => small::listener(options),
        "para-in" => small::para_in(options),
        "para-add" => small::para_add(options),
        "add" => small::add(options),
        "idle" => idle::idle(options),
        role => Err(format!("unknown role '{role}'").into()),
    }
}
