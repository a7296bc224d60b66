//! `runnel wasm serve`.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::ValueHint;
use runnel::{Context, ContextOptions, Graphs};
use runnel_wasm::migration::link::{Identity, Link, LinkOptions, Listener, TrustedHosts, default_folder};
use runnel_wasm::migration::{Arrival, Arrivals, Greeted, MoveAnswer, MoveRequest, SharedChannel};
use runnel_wasm::{Ended, Guest, Program};
use serde_json::json;

use super::control::{self, Hosted};
use super::ros_arguments::RosArguments;
use super::run::{self as run_command, Running};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::{Output, listed, print_error, shown};

/// The port, if none is given.
pub const PORT: u16 = 7411;

/// How long to wait for a host before a look at Ctrl-C.
const STEP: Duration = Duration::from_millis(200);

/// Hosts that are heard at a time, at most.
const MOST_GREETED: usize = 16;

/// How long a node may take to end with this host.
const END: Duration = Duration::from_secs(6);

/// Accept nodes that move here from other hosts, until Ctrl-C
///
/// A node is accepted if it runs from one of these modules, and comes from a host that this one trusts: see `runnel wasm trust`.
/// Further arguments for ROS apply to all of them: NAME:=OTHER, __master:=URI.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The nodes: modules, or files that were compiled from them
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    nodes: Vec<PathBuf>,

    #[command(flatten)]
    running: Running,

    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:7411")]
    listen: SocketAddr,
}

/// A program that is served.
struct Served {
    file: PathBuf,
    program: Program,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let load = |file: &PathBuf| {
        let program = args.running.load(file, false)?;
        match program.checkpoint_refusal() {
            Some(why) => Err(CliError::failed(format!("{}: {why}", file.display()))),
            None => Ok(Served { file: file.clone(), program }),
        }
    };
    let served = args.nodes.iter().map(load).collect::<Result<Vec<_>, _>>()?;
    let folder = default_folder().map_err(CliError::failed)?;
    let identity = Identity::load_or_create(&folder).map_err(CliError::failed)?;
    let trusted = TrustedHosts::in_folder(&folder);
    let listener = Listener::bind(args.listen, &identity, &trusted, LinkOptions::default());
    let listener = listener.map_err(CliError::failed)?;
    // It has no nodes: it knows of Ctrl-C.
    let context =
        Context::with_options(ContextOptions::default().graphs(Graphs::Ros1).wait_for_master(false))?;
    let names: Vec<String> = served.iter().map(|served| stem(&served.file)).collect();
    let address = listener.address();
    cli.output.answer(
        || format!("accepts {} at {address}", listed(&names, 10)),
        || json!({ "event": "listening", "programs": names, "address": address.to_string() }),
    )?;
    let serving = Serving { args, cli, served: &served, arrivals: Arc::default(), guests: Mutex::default() };
    thread::scope(|scope| {
        let greeting = Arc::new(());
        while context.ok() {
            serving.guests().retain(|guest| !guest.thread.is_finished());
            match listener.accept(STEP) {
                Ok(None) => {}
                Ok(Some(link)) if Arc::strong_count(&greeting) <= MOST_GREETED => {
                    let (greeting, serving) = (Arc::clone(&greeting), &serving);
                    scope.spawn(move || {
                        serving.greet(link);
                        drop(greeting);
                    });
                }
                Ok(Some(link)) => print_error(&format!("{}: too many hosts at a time", link.peer())),
                Err(error) => {
                    print_error(&error.to_string());
                    thread::sleep(STEP);
                }
            }
        }
        let guests = std::mem::take(&mut *serving.guests());
        guests.iter().for_each(|guest| guest.hosted.control.shutdown());
        guests.into_iter().for_each(Hosting::end);
    });
    Ok(())
}

/// What accepts nodes.
struct Serving<'a> {
    args: &'a Args,
    cli: &'a CliContext,
    served: &'a [Served],
    arrivals: Arc<Arrivals>,
    guests: Mutex<Vec<Hosting>>,
}

/// A node that is here, or on its way.
struct Hosting {
    hosted: Hosted,
    thread: JoinHandle<()>,
}

impl Hosting {
    fn end(self) {
        let until = std::time::Instant::now() + END;
        while !self.thread.is_finished() {
            if std::time::Instant::now() > until {
                self.hosted.control.stop();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Serving<'_> {
    fn guests(&self) -> MutexGuard<'_, Vec<Hosting>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what another host has to say.
    fn greet(&self, link: Link) {
        let from = link.peer().to_string();
        match self.arrivals.greet(SharedChannel::new(link)) {
            Ok(Greeted::Arrival(arrival)) => {
                let (nodes, refuse) = (names_of(&arrival), arrival.refuser());
                match self.host(*arrival, &from) {
                    Ok(guest) => self.guests().push(guest),
                    Err(why) => {
                        refuse(&why);
                        print_error(&format!("{from}: {nodes} is refused: {why}"));
                    }
                }
            }
            Ok(Greeted::Request(request)) => self.move_on(&request),
            Ok(Greeted::Nothing) => {}
            Err(why) => print_error(&why),
        }
    }

    /// Moves a node on, as another host asks.
    fn move_on(&self, request: &MoveRequest) {
        let has =
            |guest: &&Hosting| guest.hosted.control.node_names().iter().any(|name| name == request.node());
        let hosted = self.guests().iter().find(has).map(|guest| guest.hosted.clone());
        let answer = match (hosted, request.to()) {
            (None, _) => MoveAnswer::NotHere,
            (Some(_), None) => MoveAnswer::Here,
            (Some(hosted), Some(to)) => {
                let in_doubt = |why: &str| request.answer(&MoveAnswer::InDoubt(why.to_owned()));
                let moved = hosted.migrate(to, in_doubt);
                moved.map_or_else(|error| MoveAnswer::Refused(error.to_string()), MoveAnswer::Moved)
            }
        };
        request.answer(&answer);
    }

    /// Takes a node that comes from another host.
    fn host(&self, arrival: Arrival, from: &str) -> Result<Hosting, String> {
        let nodes = names_of(&arrival);
        let of_module = |served: &&Served| served.program.hash() == arrival.module();
        let served = self.served.iter().find(of_module);
        let served = served.ok_or_else(|| {
            format!("it does not serve the module {} from which {nodes} runs", arrival.module())
        })?;
        let refuse = arrival.refuser();
        let guest = self.guest(arrival, served).map_err(|error| error.to_string())?;
        let hosted = Hosted::arriving(guest.control(), &self.arrivals);
        let (control, output, from) = (hosted.clone(), self.cli.output, from.to_owned());
        let thread = thread::spawn(move || {
            let socket = control::serve(control);
            if let Err(error) = &socket {
                print_error(&format!("{nodes} cannot be moved on by other processes: {error}"));
            }
            match guest.run() {
                Ok(Ended::NotCome) => print_error(&format!("{nodes} has not come from {from}")),
                Ok(Ended::HandedOver) => report(output, &nodes, "gone", "has gone to another host"),
                Ok(Ended::Returned | Ended::Stopped) => report(output, &nodes, "ended", "has ended"),
                Err(error) => {
                    // The source has gone if the node was here.
                    refuse(&error.to_string());
                    print_error(&format!("{nodes}: {error}"));
                }
            }
        });
        Ok(Hosting { hosted, thread })
    }

    fn guest(&self, arrival: Arrival, served: &Served) -> Result<Guest, CliError> {
        let (nodes, output) = (names_of(&arrival), self.cli.output);
        let kept = RosArguments::of_checkpoint(arrival.ros_arguments());
        if !kept.is_empty() {
            output.note(&format!("ROS arguments of {nodes}: {kept}"));
        }
        let process = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        let ros_arguments = kept.before(process.collect());
        let options = ContextOptions::default().arguments(ros_arguments.clone()).graphs(arrival.graphs());
        let context = Context::with_options(options.signals(false).standby(true))?;
        let ros_arguments = run_command::ros_arguments(ros_arguments, &context);
        let options = self.args.running.options(&served.file, Vec::new(), ros_arguments, self.cli)?;
        let arrival = arrival.on_come(move || report(output, &nodes, "here", "is here"));
        arrival.into_guest(&served.program, context, options).map_err(CliError::failed)
    }
}

/// The nodes that come, for people: the other host has chosen the names.
fn names_of(arrival: &Arrival) -> String {
    shown(&listed(arrival.nodes(), 5)).into_owned()
}

/// Prints what has become of a node.
fn report(output: Output, nodes: &str, event: &str, text: &str) {
    // A reader that is gone does not end the nodes.
    let _ = output.answer(|| format!("{nodes} {text}"), || json!({ "event": event, "nodes": nodes }));
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
