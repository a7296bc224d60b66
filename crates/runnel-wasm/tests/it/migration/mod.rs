//! Guests that move to another host while they run: here, to another context of the process.

mod channel;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use runnel::msgs::std_msgs::msg::Int32;
use runnel::{Context, ContextOptions, Graphs, MasterOptions};
use runnel_wasm::migration::{
    Arrival, Arrivals, Greeted, Migrated, MigrationError, MigrationOptions, Reach, Resolution, SharedChannel,
    migrate,
};
use runnel_wasm::program::Target;
use runnel_wasm::{Ended, GuestOptions, Program};

use crate::checkpoints::adder::ADDER;
use crate::checkpoints::unlimited;
use crate::guests::{Running, TIMEOUT, namespace, program_for, run_on_thread, start_in};

/// The graphs of a test: their nodes, and a master if they need one.
struct Graph {
    graphs: Graphs,
    namespace: String,
    arguments: Vec<String>,
    context: Context,
    spinning: Option<JoinHandle<()>>,
}

impl Graph {
    fn new(graphs: Graphs) -> Self {
        let namespace = namespace();
        let given = format!("__ns:={namespace}");
        let options = ContextOptions::default().arguments([given.clone()]).signals(false).graphs(graphs);
        let at = MasterOptions::at(([127, 0, 0, 1], 0));
        let (context, uri) = Context::with_master(options, at).expect("a context");
        let spins = context.clone();
        let spinning = Some(thread::spawn(move || spins.spin().expect("it spins")));
        let arguments = vec![given, format!("__master:={uri}")];
        Self { graphs, namespace, arguments, context, spinning }
    }

    /// A context for a guest.
    fn context(&self, stands_by: bool) -> Context {
        let options = ContextOptions::default().arguments(self.arguments.clone());
        let options = options.signals(false).graphs(self.graphs).standby(stands_by);
        Context::with_options(options).expect("a context")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.context.shutdown();
        if let Some(Err(_)) = self.spinning.take().map(JoinHandle::join) {
            eprintln!("the native node has panicked");
        }
    }
}

/// Sends 1, 2, 3 ... to a guest that adds, and checks each sum.
struct Traffic {
    stop: Arc<AtomicBool>,
    /// How many numbers it has sent, and the sums that came back.
    thread: JoinHandle<(i32, Vec<i32>)>,
}

impl Traffic {
    fn begin(graph: &Graph, period: Duration) -> Self {
        let node = graph.context.create_node("native").unwrap();
        let (send, received) = mpsc::channel();
        let sums = node.create_subscription("sum", 1000, move |sum: &Int32| _ = send.send(sum.data)).unwrap();
        let numbers = node.create_publisher("number", 1000).unwrap();
        assert!(numbers.wait_for_subscribers(1, TIMEOUT).unwrap(), "the guest's subscription");
        assert!(sums.wait_for_publishers(1, TIMEOUT).unwrap(), "the guest's publisher");
        let stop = Arc::<AtomicBool>::default();
        let is_stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            // The guest's publisher finds the subscription in its own time: a sum may be lost until one has come.
            let mut number = 0;
            let first = loop {
                numbers.publish(Int32 { data: 0 }).unwrap();
                if let Ok(sum) = received.recv_timeout(Duration::from_millis(100)) {
                    break sum;
                }
            };
            assert_eq!(first, 0);
            while !is_stopped.load(Ordering::SeqCst) {
                number += 1;
                numbers.publish(Int32 { data: number }).unwrap();
                thread::sleep(period);
            }
            let (last, mut all) = ((1..=number).sum::<i32>(), Vec::new());
            // The last ones may be on their way.
            while all.last() != Some(&last)
                && let Ok(sum) = received.recv_timeout(Duration::from_secs(10))
            {
                if sum > 0 {
                    all.push(sum);
                }
            }
            drop((sums, node));
            (number, all)
        });
        Self { stop, thread }
    }

    /// Ends, and checks what came back.
    fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        let (sent, received) = self.thread.join().expect("the traffic does not panic");
        let expected: Vec<i32> = (1..=sent)
            .scan(0, |sum, number| {
                Some(*{
                    *sum += number;
                    sum
                })
            })
            .collect();
        let place = received.iter().zip(&expected).position(|(got, wanted)| got != wanted);
        assert_eq!(
            place,
            None,
            "{:?}",
            place.map(|at| &received[at.saturating_sub(3)..(at + 5).min(received.len())])
        );
        assert_eq!(received.len(), expected.len(), "nothing is lost or doubled");
    }
}

/// A node that is offered.
fn greeted(arrivals: &Arrivals, channel: SharedChannel) -> Option<Arrival> {
    match arrivals.greet(channel) {
        Ok(Greeted::Arrival(arrival)) => Some(*arrival),
        _ => None,
    }
}

/// A host that accepts a guest.
fn accept(program: &Program, arrivals: &Arrivals, channel: SharedChannel, graph: &Graph) -> Running {
    let arrival = greeted(arrivals, channel).expect("it is an offer");
    let options = GuestOptions { manifest: Some(unlimited()), ..GuestOptions::default() };
    run_on_thread(arrival.into_guest(program, graph.context(true), options).expect("it is accepted"))
}

/// Moves a guest to a new host.
fn move_guest(
    guest: &Running,
    program: &Program,
    graph: &Graph,
) -> (Result<Migrated, MigrationError>, Running) {
    let (ours, theirs, _cut) = channel::pair();
    let arrivals = Arrivals::default();
    thread::scope(|scope| {
        let target = scope.spawn(|| accept(program, &arrivals, theirs, graph));
        let (_resolve, resolutions) = mpsc::channel();
        let mut reach = Reach {
            reconnect: &mut || Err("there is no other way".to_owned()),
            resolutions: &resolutions,
            report_doubt: &mut |why| panic!("it is in doubt: {why}"),
        };
        let migrated = migrate(&guest.control, ours, MigrationOptions::default(), &mut reach);
        if let Err(error) = &migrated {
            eprintln!("it does not move: {error}");
        }
        (migrated, target.join().expect("the target does not panic"))
    })
}

/// A guest moves several times between both engines while numbers come.
fn moves(graphs: Graphs, times: usize) {
    let programs = [Target::host(), Target::interpreter()].map(|target| program_for(target, ADDER));
    let graph = Graph::new(graphs);
    let mut guest = start_in(&programs[0], unlimited(), graph.context(false));
    let traffic = Traffic::begin(&graph, Duration::from_millis(1));
    for turn in 1..=times {
        thread::sleep(Duration::from_millis(50));
        let (migrated, next) = move_guest(&guest, &programs[turn % 2], &graph);
        let migrated = migrated.unwrap_or_else(|error| panic!("move {turn}: {error}"));
        eprintln!("move {turn}: {migrated:?}");
        let former = std::mem::replace(&mut guest, next);
        assert_eq!(former.end().unwrap(), Ended::HandedOver);
    }
    thread::sleep(Duration::from_millis(100));
    traffic.end();
    guest.control.shutdown();
    assert_eq!(guest.end().unwrap(), Ended::Returned);
}

#[test]
fn moving_guest_loses_nothing_in_ros2() {
    moves(Graphs::Ros2, 4);
}

#[test]
fn moving_guest_loses_nothing_in_ros1() {
    moves(Graphs::Ros1, 4);
}

#[test]
fn moving_guest_loses_nothing_in_both_graphs() {
    moves(Graphs::Both, 4);
}

/// What has become of a move whose connection broke.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fates {
    /// The node went on at the source.
    stayed: u32,
    /// It went on at the target.
    moved: u32,
    /// Neither host knew, until the source reached the target again, or a user decided.
    in_doubt: u32,
}

/// Moves a guest over a connection that breaks at the frame after so many in a direction. The source reaches the target
/// again, or a user decides.
fn break_at(
    graph: &Graph,
    program: &Program,
    (end, frames): (usize, usize),
    resolution: Option<Resolution>,
    fates: &mut Fates,
) -> bool {
    let guest = start_in(program, unlimited(), graph.context(false));
    let traffic = Traffic::begin(graph, Duration::from_millis(2));
    let (ours, theirs, cut) = channel::pair();
    cut.after(end, frames);
    let arrivals = Arrivals::default();
    let (migrated, target, was_in_doubt) = thread::scope(|scope| {
        let expected = scope.spawn(|| {
            let arrival = greeted(&arrivals, theirs)?;
            let options = GuestOptions { manifest: Some(unlimited()), ..GuestOptions::default() };
            let guest = arrival.into_guest(program, graph.context(true), options);
            Some(run_on_thread(guest.expect("it is accepted")))
        });
        let (resolve, resolutions) = mpsc::channel();
        let mut was_in_doubt = false;
        let mut reconnect = || {
            // A user decides if the hosts do not reach each other.
            if resolution.is_some() {
                return Err("there is no other way".to_owned());
            }
            let (ours, theirs, _) = channel::pair();
            scope.spawn(|| _ = arrivals.greet(theirs));
            Ok(ours)
        };
        let mut report_doubt = |_: &str| {
            was_in_doubt = true;
            if let Some(resolution) = resolution {
                // At the target first, as the documentation says: one that has committed itself is in no doubt.
                let resolve_there = || arrivals.resolve(&format!("{}/adder", graph.namespace), resolution);
                // It notices a little later that the connection is broken.
                let is_decided = (0..100).any(|_| {
                    thread::sleep(Duration::from_millis(10));
                    resolve_there()
                });
                let decided = if is_decided { resolution } else { Resolution::Target };
                resolve.send(decided).expect("it is decided");
            }
        };
        let mut reach =
            Reach { reconnect: &mut reconnect, resolutions: &resolutions, report_doubt: &mut report_doubt };
        let migrated = migrate(&guest.control, ours, MigrationOptions::default(), &mut reach);
        (migrated, expected.join().expect("the target does not panic"), was_in_doubt)
    });
    fates.in_doubt += u32::from(was_in_doubt);
    thread::sleep(Duration::from_millis(50));
    traffic.end();
    let is_here = migrated.is_ok();
    if is_here {
        fates.moved += 1;
        assert_eq!(guest.end().unwrap(), Ended::HandedOver);
        let target = target.expect("it has come");
        target.control.shutdown();
        assert_eq!(target.end().unwrap(), Ended::Returned, "frame {frames} of end {end}");
    } else {
        fates.stayed += 1;
        // One that was prepared, and has not learned that it is not needed, waits for a user.
        if resolution.is_some() {
            let resolve = || arrivals.resolve(&format!("{}/adder", graph.namespace), Resolution::Source);
            let _ = (0..50).any(|_| {
                thread::sleep(Duration::from_millis(10));
                resolve()
            });
        }
        if let Some(target) = target {
            assert_eq!(target.end().unwrap(), Ended::NotCome, "frame {frames} of end {end}");
        }
        guest.control.shutdown();
        assert_eq!(guest.end().unwrap(), Ended::Returned);
    }
    is_here
}

#[test]
fn node_goes_on_at_one_host_wherever_the_connection_breaks() {
    let (graph, program) = (Graph::new(Graphs::Ros2), program_for(Target::host(), ADDER));
    let mut fates = Fates::default();
    for end in [0, 1] {
        // Until the migration ends before the connection breaks.
        for frames in 0..40 {
            if break_at(&graph, &program, (end, frames), None, &mut fates) && frames > 12 {
                break;
            }
        }
    }
    eprintln!("{fates:?}");
    assert!(fates.stayed > 4 && fates.moved > 2 && fates.in_doubt > 0, "{fates:?}");
}

#[test]
fn user_decides_when_the_hosts_do_not_reach_each_other() {
    let (graph, program) = (Graph::new(Graphs::Ros2), program_for(Target::host(), ADDER));
    for resolution in [Resolution::Source, Resolution::Target] {
        let mut fates = Fates::default();
        // The commitment is among the last frames of the source, and its answer among those of the target.
        for (end, frames) in (0..14).map(|frames| (0, frames)).chain((0..8).map(|frames| (1, frames))) {
            break_at(&graph, &program, (end, frames), Some(resolution), &mut fates);
        }
        eprintln!("{resolution:?}: {fates:?}");
        assert!(fates.in_doubt > 0, "{fates:?}");
    }
}
