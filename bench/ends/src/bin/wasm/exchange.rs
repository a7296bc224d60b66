//! The messages that are exchanged with `guests/bench_node`, and how long they take.

use std::fmt;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use runnel::core::Message;
use runnel::msgs::geometry_msgs::msg::{Twist, Vector3};
use runnel::msgs::raspimouse_msgs::msg::LightSensors;
use runnel::msgs::std_msgs::msg::{UInt32, UInt64, UInt64MultiArray};
use runnel::{Context, Node, Publisher, QoS, Subscription};
use runnel_floor::now;

use crate::node_process::{NodeProcess, wall_clock};
use crate::{Failure, bind, join, wait};

/// Primes are searched up to this number, or so many of them: how many there are, and the largest.
const NUMBER: u32 = 1024;
const UP_TO: [u64; 2] = [172, 1021];
const FIRST: [u64; 2] = [NUMBER as u64, 8161];

const DEPTH: usize = 10;

#[derive(clap::Args)]
pub struct Args {
    /// Measured messages of each topic
    #[arg(long)]
    count: usize,
    /// Time between them, in microseconds
    #[arg(long)]
    period: u64,
    /// Measured searches of each kind
    #[arg(long)]
    searches: usize,
    /// The CPU of this program
    #[arg(long)]
    own_cpu: Option<usize>,
    /// The CPU of the node
    #[arg(long)]
    node_cpu: Option<usize>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    program: Vec<String>,
}

pub fn measure(args: &Args) -> Result<(), Failure> {
    bind(args.own_cpu)?;
    let (context, node) = join()?;
    let ends = Ends::new(&node)?;
    // A process has the CPUs of the thread that starts it.
    bind(args.node_cpu)?;
    let process = NodeProcess::start(&args.program)?;
    bind(args.own_cpu)?;
    let mut exchange = Exchange { context, process, args };
    let start = exchange.start(&ends)?;
    let sensors = LightSensors { forward_r: 500, forward_l: 480, left: 210, right: 190 };
    let ahead = Twist { linear: Vector3 { x: 0.2, ..Vector3::default() }, ..Twist::default() };
    let light_sensors = exchange.messages(&ends.light_sensors, &sensors, &ends.received)?;
    let cmd_vel = exchange.messages(&ends.cmd_vel, &ahead, &ends.received)?;
    let up_to = exchange.searches(&ends.primes_up_to, UP_TO, &ends.primes)?;
    let first = exchange.searches(&ends.first_primes, FIRST, &ends.primes)?;
    exchange.process.end()?;
    println!(
        r#"{{{start}, "light_sensors": {light_sensors}, "cmd_vel": {cmd_vel}, "primes_up_to": {up_to:?}, "first_primes": {first:?}}}"#
    );
    Ok(())
}

/// This program's ends of the topics. What is received has the wall clock of the callback with it.
struct Ends {
    light_sensors: Publisher<LightSensors>,
    cmd_vel: Publisher<Twist>,
    primes_up_to: Publisher<UInt32>,
    first_primes: Publisher<UInt32>,
    started: Receiver<(UInt64, u64)>,
    received: Receiver<(UInt64, u64)>,
    primes: Receiver<(UInt64MultiArray, u64)>,
    /// Of these three.
    subscriptions: [Subscription; 3],
}

impl Ends {
    fn new(node: &Node) -> Result<Self, Failure> {
        let latched = QoS::keep_last(1).transient_local();
        let (started, first) = receive(node, "started", latched)?;
        let (received, second) = receive(node, "received", QoS::keep_last(DEPTH))?;
        let (primes, third) = receive(node, "primes", QoS::keep_last(DEPTH))?;
        Ok(Self {
            light_sensors: node.create_publisher("light_sensors", DEPTH)?,
            cmd_vel: node.create_publisher("cmd_vel", DEPTH)?,
            primes_up_to: node.create_publisher("primes_up_to", DEPTH)?,
            first_primes: node.create_publisher("first_primes", DEPTH)?,
            started,
            received,
            primes,
            subscriptions: [first, second, third],
        })
    }

    /// Whether the node has joined all topics, and those that are measured use shared memory.
    fn are_joined(&self) -> bool {
        self.light_sensors.shared_memory_count() == 1
            && self.cmd_vel.shared_memory_count() == 1
            && self.primes_up_to.subscription_count() == 1
            && self.first_primes.subscription_count() == 1
            && self.subscriptions.iter().all(|subscription| subscription.shared_memory_count() == 1)
    }
}

fn receive<M: Message + Clone>(
    node: &Node,
    topic: &str,
    qos: QoS,
) -> Result<(Receiver<(M, u64)>, Subscription), Failure> {
    let (sender, receiver) = channel();
    let subscription = node.create_subscription(topic, qos, move |message: &M| {
        // The receiver lives as long as the subscription.
        _ = sender.send((message.clone(), wall_clock()));
    })?;
    Ok((receiver, subscription))
}

/// The node that is measured, and how.
struct Exchange<'a> {
    context: Context,
    process: NodeProcess,
    args: &'a Args,
}

/// From its start to its first message: to when the node publishes it, and to when it is received here.
struct Start {
    published: u64,
    received: u64,
}

/// Of each message of a topic: from before it is published to the node's callback, and to the answer's callback here.
struct Times {
    one_way: Vec<u64>,
    round_trip: Vec<u64>,
}

impl Exchange<'_> {
    /// Waits until the node has joined.
    fn start(&mut self, ends: &Ends) -> Result<Start, Failure> {
        let (context, process) = (&self.context, &mut self.process);
        let (first, received) = wait(context, process, "first message", || ends.started.try_recv().ok())?;
        wait(context, process, "handover to shared memory", || ends.are_joined().then_some(()))?;
        let started = self.process.started;
        Ok(Start { published: since(started, first.data)?, received: since(started, received)? })
    }

    /// Sends messages of a topic one after another, each when it is due. Those for warm-up come before.
    fn messages<M: Message>(
        &mut self,
        publisher: &Publisher<M>,
        message: &M,
        answers: &Receiver<(UInt64, u64)>,
    ) -> Result<Times, Failure> {
        let (warm_up, period) = (self.args.count / 10, Duration::from_micros(self.args.period));
        let mut times = Times { one_way: Vec::new(), round_trip: Vec::new() };
        let mut due = now();
        for number in 0..warm_up + self.args.count {
            self.context.sleep_wall(Duration::from_nanos(due.saturating_sub(now())))?;
            let sent = wall_clock();
            publisher.publish(message)?;
            let answer = self.answer(publisher.topic(), answers)?;
            if number >= warm_up {
                times.one_way.push(since(sent, answer.0.data)?);
                times.round_trip.push(since(sent, answer.1)?);
            }
            due += period.as_nanos() as u64;
        }
        Ok(times)
    }

    /// Has the node search primes. Returns how long each search took there.
    fn searches(
        &mut self,
        publisher: &Publisher<UInt32>,
        found: [u64; 2],
        answers: &Receiver<(UInt64MultiArray, u64)>,
    ) -> Result<Vec<u64>, Failure> {
        let mut times = Vec::new();
        for number in 0..self.args.searches / 10 + self.args.searches {
            publisher.publish(UInt32 { data: NUMBER })?;
            let (answer, _) = self.answer(publisher.topic(), answers)?;
            if answer.data.get(1..) != Some(&found) {
                return Err(format!("{}: wrong primes: {:?}", publisher.topic(), answer.data).into());
            }
            if number >= self.args.searches / 10 {
                times.push(answer.data[0]);
            }
        }
        Ok(times)
    }

    fn answer<T>(&mut self, topic: &str, answers: &Receiver<T>) -> Result<T, Failure> {
        wait(&self.context, &mut self.process, &format!("answer to {topic}"), || answers.try_recv().ok())
    }
}

/// The time from one reading of the wall clock to another.
fn since(earlier: u64, later: u64) -> Result<u64, Failure> {
    later.checked_sub(earlier).ok_or_else(|| "the wall clock was set back meanwhile".into())
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#""started": {}, "first_received": {}"#, self.published, self.received)
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"one_way": {:?}, "round_trip": {:?}}}"#, self.one_way, self.round_trip)
    }
}
