//! The ends of the bench's exchanges on iceoryx2. How the bench talks with an end is told in bench/README.md.
//!
//! ```text
//! runnel-bench-iceoryx2 event|poll ROLE --size BYTES --count N --warm-up N --depth N [--sent FILE] [--received FILE]
//! ```

mod options;
mod talk;
mod topic;

use std::error::Error;
use std::ops::ControlFlow;
use std::process::ExitCode;

use runnel_floor::{Stamps, number, set_number};

use self::options::Options;
use self::talk::{End, say_ready, wait_for_end, wait_for_go};
use self::topic::{Outlet, Topic};

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
        "ping" => ping(options),
        "pong" => pong(options),
        "source" => source(options),
        "sink" => sink(options),
        role => Err(format!("there is no role '{role}'").into()),
    }
}

fn ping(options: &Options) -> Result<(), Box<dyn Error>> {
    let (mut sent, mut received) = (Stamps::of(options.trial), Stamps::of(options.trial));
    let mut message = options.trial.message();
    let (questions, answers) = (Topic::open("ping", options)?, Topic::open("pong", options)?);
    let (outlet, inlet) = (questions.outlet()?, answers.inlet()?);
    let mut send = |number| {
        set_number(&mut message, number);
        sent.take(number);
        outlet.send(&message)
    };
    join([&questions, &answers], &outlet)?;
    wait_for_go()?;
    let end = End::notice("pong")?;
    send(0)?;
    inlet.each(&end, |answer| {
        let number = number_of(answer);
        received.take(number);
        match number + 1 {
            next if next < options.trial.total() => send(next).map(ControlFlow::Continue),
            _ => Ok(ControlFlow::Break(())),
        }
    })?;
    options.write_sent(&sent)?;
    options.write_received(&received)
}

fn pong(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut received = Stamps::of(options.trial);
    let (questions, answers) = (Topic::open("ping", options)?, Topic::open("pong", options)?);
    let (inlet, outlet) = (questions.inlet()?, answers.outlet()?);
    let end = End::notice("ping")?;
    join([&questions, &answers], &outlet)?;
    inlet.each(&end, |question| {
        received.take(number_of(question));
        outlet.send(question).map(ControlFlow::Continue)
    })?;
    options.write_received(&received)
}

fn source(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut sent = Stamps::of(options.trial);
    let mut message = options.trial.message();
    let burst = Topic::open("burst", options)?;
    let outlet = burst.outlet()?;
    join([&burst], &outlet)?;
    wait_for_go()?;
    for number in 0..options.trial.total() {
        set_number(&mut message, number);
        sent.take(number);
        outlet.send(&message)?;
    }
    // What was sent lies in this end's memory.
    wait_for_end();
    options.write_sent(&sent)
}

fn sink(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut received = Stamps::of(options.trial);
    let burst = Topic::open("burst", options)?;
    let inlet = burst.inlet()?;
    let end = End::notice("burst")?;
    say_ready()?;
    inlet.each(&end, |message| {
        let number = number_of(message);
        received.take(number);
        let last = number + 1 == options.trial.total();
        Ok(if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    options.write_received(&received)
}

/// Waits for the other end, and tells the bench.
fn join<const TOPICS: usize>(topics: [&Topic; TOPICS], outlet: &Outlet) -> Result<(), Box<dyn Error>> {
    for topic in topics {
        topic.wait_for_ends()?;
    }
    outlet.connect()?;
    say_ready()
}

fn number_of(message: &[u8]) -> u64 {
    number(message).unwrap_or_default()
}
