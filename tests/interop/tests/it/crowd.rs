//! A hundred nodes with a thousand topics on one master, which is killed and restarted. To print figures:
//!
//! ```text
//! cargo build --release -p runnel-cli -p interop --bins
//! unshare -rn bash -c 'ip link set lo up; cargo test --release -p interop --test it crowd -- --nocapture --test-threads 1'
//! ```

use std::fs;
use std::time::{Duration, Instant};

use interop::{Master, Ros1Graph, Server, TIMEOUT, wait_until};
use runnel::{Context, ContextOptions};
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Nodes of each kind.
const NODES: usize = 50;
const TOPICS: usize = 20;
const ALL: usize = NODES * TOPICS;

/// Number of timed calls of a kind.
const CALLS: usize = 25;

fn crowd(graph: &Ros1Graph, role: &str) -> Peer {
    let numbers = [NODES.to_string(), TOPICS.to_string()];
    graph.runnel("runnel_crowd", &[role, &numbers[0], &numbers[1]])
}

fn registered(peer: &mut Peer) -> String {
    peer.wait_for_line(|line| line.starts_with("registered "), deadline_in(TIMEOUT)).unwrap()
}

/// Waits until messages of every topic arrive.
fn wait_for_all_topics(peer: &mut Peer) {
    let all = format!("heard {ALL}");
    for _ in 0..2 {
        peer.wait_for_line(|line| line == all, deadline_in(TIMEOUT)).unwrap();
    }
}

fn asker(graph: &Ros1Graph) -> Context {
    let options = ContextOptions::default().arguments([format!("__master:={}", graph.master_uri())]);
    Context::with_options(options.signals(false)).unwrap()
}

fn ask(context: &Context, method: &str, params: &[Value]) -> Value {
    let params = [&["/test".into()], params].concat();
    let answer = context.call_master(method, &params, Duration::from_secs(TIMEOUT)).unwrap();
    answer.as_array().unwrap()[2].clone()
}

/// The median duration of calls, in microseconds.
fn time(context: &Context, method: &str, params: &[Value]) -> u128 {
    let timed = |_| {
        let begun = Instant::now();
        ask(context, method, params);
        begun.elapsed().as_micros()
    };
    let mut times: Vec<u128> = (0..CALLS).map(timed).collect();
    times.sort_unstable();
    times[CALLS / 2]
}

/// Number of the crowd's topics on one side of the master's state.
fn listed(state: &Value, side: usize) -> usize {
    let rows = state.as_array().unwrap()[side].as_array().unwrap();
    let topic = |row: &&Value| row.as_array().unwrap()[0].as_str().unwrap().starts_with("/crowd/");
    rows.iter().filter(topic).count()
}

fn resident_megabytes(process: &Peer) -> f64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1.024e-3
}

fn check_recovery(server: Server) {
    let mut master = Master::start(server);
    let empty = resident_megabytes(master.process());
    let mut publishers = crowd(master.graph(), "publish");
    let publishing = registered(&mut publishers);
    let mut subscribers = crowd(master.graph(), "subscribe");
    let subscribing = registered(&mut subscribers);
    wait_for_all_topics(&mut subscribers);
    let full = resident_megabytes(master.process());
    let context = asker(master.graph());
    let node = time(&context, "lookupNode", &["/subscriber_7".into()]);
    let state = time(&context, "getSystemState", &[]);
    println!("{server:?}: publishers {publishing}, subscribers {subscribing}");
    println!(
        "{server:?}: lookupNode {node} us, getSystemState {state} us, {empty:.1} MB empty, {full:.1} MB full"
    );

    master.kill();
    master.restart();
    let begun = Instant::now();
    wait_until("all is registered again", deadline_in(TIMEOUT), || {
        let state = ask(&context, "getSystemState", &[]);
        listed(&state, 0) == ALL && listed(&state, 1) == ALL
    });
    println!("{server:?}: everything was back {:.2} s after the restart", begun.elapsed().as_secs_f64());
    wait_for_all_topics(&mut subscribers);
    publishers.stop(deadline_in(TIMEOUT)).unwrap();
    subscribers.signal(Signal::INT).unwrap();
    let counted = |line: &str| line.starts_with("messages ");
    let counted = subscribers.wait_for_line(counted, deadline_in(TIMEOUT)).unwrap();
    assert!(counted.ends_with(" gaps 0"), "{counted}");
}

#[test]
fn crowd_recovers_at_original_master() {
    check_recovery(Server::Rosmaster);
}

#[test]
fn crowd_recovers_at_runnel_master() {
    check_recovery(Server::Runnel);
}
