//! The recorder: subscribes to topics as they appear, and keeps the bag safe.
//!
//! Callbacks of the context write the messages; see [`Sink`]. Its owner spins the context, and calls [`Recorder::step`] a few
//! times a second on another thread.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use runnel::bridge::bridge_of_node;
use runnel::core::names::DdsTopic;
use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::{Context, Graphs, Node, QoS, RawMessage, Ros2Graph, Subscription, SubscriptionOptions};
use runnel_bag::rosbag2::offered_qos;
use runnel_io::clock;

use super::arrival::Arrival;
use super::definitions::{Answer, Definitions};
use super::limits::Limits;
use super::loss::Counts;
use super::periodic_sync::PeriodicSync;
use super::sink::{Bags, Sink};
use super::topic_selection::TopicSelection;
use crate::bag::MASTER_DEADLINE;
use crate::error::CliError;
use crate::graph::Graph;
use crate::graphs::{Topics, is_publisher};
use crate::streaming::lock;
use crate::types::Types;

/// How often the ROS 1 master is asked for topics.
const MASTER_PERIOD: Duration = Duration::from_millis(500);

/// Part of the time at risk after which the bag is written to the disk: writing takes time itself.
const SYNC_SHARE: f64 = 0.8;

/// How long the end may take to record what has arrived.
const DRAIN: Duration = Duration::from_secs(1);

/// Most topics of a recording: peers can have any number.
const MOST_TOPICS: usize = 4096;

/// What to record, and how.
pub struct Options {
    /// The topics.
    pub topics: TopicSelection,
    /// Messages of a topic that may wait to be written.
    pub depth: usize,
    /// When to end, or to begin another bag.
    pub limits: Limits,
    /// How much may be lost if this process or its computer fails.
    pub max_loss: Duration,
    /// Whether messages of ROS 2 can be recorded.
    pub takes_ros2: bool,
    /// Whether times are those on `/clock`. Nothing is recorded before the first.
    pub sim_time: bool,
    /// Whether topics that appear later are recorded.
    pub discovery: bool,
    /// Requests datagrams from ROS 1 publishers.
    pub udp: bool,
}

/// The subscriptions of a recording, and the bag.
pub struct Recorder {
    context: Context,
    node: Node,
    options: Options,
    sink: Arc<Mutex<Sink>>,
    subscriptions: BTreeMap<String, Recorded>,
    /// Topics that cannot be subscribed.
    refused: BTreeSet<String>,
    definitions: Definitions,
    clock: Option<(Arc<AtomicU64>, Subscription)>,
    master_read: Option<Instant>,
    has_discovered: bool,
    sync: PeriodicSync,
}

struct Recorded {
    topic: usize,
    subscription: Subscription,
    /// Messages that the callback has taken.
    taken: Arc<AtomicU64>,
}

impl Recorded {
    /// Messages that wait no more: the callback has taken them, or the queue has dropped them.
    fn passed(&self) -> u64 {
        self.taken.load(Ordering::Relaxed) + self.subscription.dropped()
    }
}

/// State of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Numbers of messages by topic.
    pub topics: BTreeMap<String, Counts>,
    /// Length of all bags in bytes.
    pub len: u64,
    /// Their files.
    pub files: Vec<PathBuf>,
}

impl Recorder {
    /// Begins a recording with subscriptions of this node. `load` returns the types known here.
    ///
    /// # Errors
    /// When the bag or a subscription cannot be created.
    pub fn new(
        node: &Node,
        bags: Box<dyn Bags>,
        options: Options,
        load: impl Fn() -> Result<Types, CliError> + Send + 'static,
    ) -> Result<Self, CliError> {
        let context = node.context().clone();
        let sink = Arc::new(Mutex::new(Sink::new(bags, options.limits, options.takes_ros2)?));
        let sync = PeriodicSync::start(Arc::clone(&sink), options.max_loss.mul_f64(SYNC_SHARE));
        let mut recorder = Self {
            definitions: Definitions::new(&context, node, load),
            context,
            node: node.clone(),
            sink,
            subscriptions: BTreeMap::new(),
            refused: BTreeSet::new(),
            clock: None,
            master_read: None,
            has_discovered: false,
            sync: sync.map_err(|error| CliError::Failed(format!("thread that syncs the bag: {error}")))?,
            options,
        };
        if recorder.options.sim_time {
            recorder.clock = Some(follow_clock(node)?);
        }
        for topic in recorder.options.topics.names.clone() {
            recorder.subscribe(&topic)?;
        }
        Ok(recorder)
    }

    /// Subscribes to new topics, and writes what waited for a definition.
    ///
    /// # Errors
    /// When the graph cannot be read.
    pub fn step(&mut self) -> Result<(), CliError> {
        let graph = match self.context.graphs() {
            Graphs::Ros1 => None,
            _ => self.context.ros2_graph()?,
        };
        if self.options.topics.discovers() && (self.options.discovery || !self.has_discovered) {
            self.discover(graph.as_ref());
        }
        self.describe(&graph.unwrap_or_default());
        let mut sink = lock(&self.sink);
        for Recorded { topic, subscription, .. } in self.subscriptions.values() {
            sink.set_lost(*topic, subscription.dropped(), subscription.lost());
        }
        Ok(())
    }

    /// Pauses the recording, or goes on; see [`Sink::set_paused`].
    pub fn set_paused(&self, is_paused: bool) {
        let now = match &self.clock {
            Some((clock, _)) => clock.load(Ordering::Relaxed),
            None => clock::realtime().as_nanos().max(0).unsigned_abs(),
        };
        lock(&self.sink).set_paused(is_paused, now);
    }

    /// Whether the recording has ended by itself: a limit is reached, or the disk failed.
    pub fn has_ended(&self) -> bool {
        lock(&self.sink).has_ended()
    }

    /// The numbers until now.
    pub fn progress(&self) -> Progress {
        progress(&self.sink)
    }

    /// Records what has arrived, ends the subscriptions and completes the bag.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(mut self) -> Result<Progress, CliError> {
        let waiting = self.drain();
        // The graph may have been left, so it says no more than before.
        self.describe(&Ros2Graph::default());
        let waiting = waiting.map(|waiting| self.count_lost(&waiting));
        // A callback that runs holds the sink, so it is not held here.
        self.subscriptions.clear();
        let finished = lock(&self.sink).finish();
        drop(self.sync);
        finished.and(waiting)?;
        Ok(progress(&self.sink))
    }

    /// Runs the callbacks of the messages that have arrived: after Ctrl-C nothing else runs them. Returns how many still
    /// wait of each subscription, since there is no more time.
    fn drain(&self) -> Result<Vec<u64>, CliError> {
        let passed = || self.subscriptions.values().map(Recorded::passed);
        if self.has_ended() {
            return Ok(passed().map(|_| 0).collect());
        }
        let until = Instant::now() + DRAIN;
        self.context.spin_some()?;
        let received: Vec<u64> =
            self.subscriptions.values().map(|recorded| recorded.subscription.received()).collect();
        let waiting =
            || received.iter().zip(passed()).map(|(received, passed)| received.saturating_sub(passed));
        while waiting().any(|waiting| waiting > 0) && Instant::now() < until {
            let before = passed().sum::<u64>();
            self.context.spin_some()?;
            if passed().sum::<u64>() == before {
                // Other threads run the callbacks.
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(waiting().collect())
    }

    /// Sets the final numbers of lost messages. Those that wait are dropped.
    fn count_lost(&self, waiting: &[u64]) {
        let mut sink = lock(&self.sink);
        for (Recorded { topic, subscription, .. }, waiting) in self.subscriptions.values().zip(waiting) {
            sink.set_lost(*topic, subscription.dropped() + waiting, subscription.lost());
        }
    }

    /// Subscribes to the selected topics that have appeared. Those that cannot be subscribed are named once.
    fn discover(&mut self, graph: Option<&Ros2Graph>) {
        let mut topics = Topics::default();
        if let Some(graph) = graph {
            topics.add_ros2(graph);
        }
        let is_due = self.master_read.is_none_or(|read| read.elapsed() >= MASTER_PERIOD);
        if self.context.graphs() != Graphs::Ros2 && is_due {
            self.master_read = Some(Instant::now());
            let master = Graph::within(&self.context, MASTER_DEADLINE);
            // Without an answer, the topics that are known stay.
            if let Ok((state, types)) =
                master.system_state().and_then(|state| Ok((state, master.topic_types()?)))
            {
                topics.add_ros1(&state, &types);
            }
        }
        let selected: Vec<String> =
            self.options.topics.select(&topics).into_iter().map(str::to_owned).collect();
        self.has_discovered = true;
        for topic in selected {
            if self.refused.contains(&topic) || self.subscriptions.len() + self.refused.len() >= MOST_TOPICS {
                continue;
            }
            match self.subscribe(&topic) {
                // The recording ends.
                Err(_) if !self.context.ok() => return,
                Err(why) => {
                    log::warn!("topic {topic} is not recorded: {why}");
                    self.refused.insert(topic);
                }
                Ok(()) => {}
            }
        }
    }

    fn subscribe(&mut self, name: &str) -> Result<(), CliError> {
        if self.subscriptions.contains_key(name) || self.subscriptions.len() >= MOST_TOPICS {
            return Ok(());
        }
        let topic = lock(&self.sink).add_topic(name);
        let (sink, clock) = (Arc::clone(&self.sink), self.clock.as_ref().map(|(time, _)| Arc::clone(time)));
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        let is_in_both = self.context.graphs() == Graphs::Both;
        let take = move |message: &RawMessage<'_>| {
            // What a bridge carries comes from the other graph, too.
            let is_repeated = is_in_both && bridge_of_node(message.publisher()).is_some();
            if let Some(log_time) = log_time(message, clock.as_deref()).filter(|_| !is_repeated) {
                lock(&sink).take(topic, &Arrival::new(message, log_time));
            }
            count.fetch_add(1, Ordering::Relaxed);
        };
        let subscription = self
            .node
            .create_raw_subscription(name, None, self.subscription_options(), take)
            .inspect_err(|_| lock(&self.sink).abandon(topic))?;
        self.subscriptions.insert(name.to_owned(), Recorded { topic, subscription, taken });
        Ok(())
    }

    /// Each publisher is asked for the best that it offers.
    fn subscription_options(&self) -> SubscriptionOptions {
        let qos = QoS::keep_last(self.options.depth).reliability_best_available().durability_best_available();
        let options = SubscriptionOptions::from(qos).strict_qos();
        if self.options.udp { options.udpros() } else { options }
    }

    /// Passes on the definitions and the QoS that are known, and asks for those that are not.
    fn describe(&self, graph: &Ros2Graph) {
        let answers: Vec<Answer> = self.definitions.answers().collect();
        let mut sink = lock(&self.sink);
        for Answer { key, definition } in answers {
            let definition = definition.unwrap_or_else(|why| {
                log::warn!("type {}: recorded as bytes, without a definition: {why}", key.name);
                runnel_bag::Schema::default()
            });
            sink.define(key, definition);
        }
        for (name, offered) in offered_qos(graph) {
            if let Some(Recorded { topic, .. }) = self.subscriptions.get(name) {
                sink.set_offered_qos(*topic, offered_qos::to_yaml(&offered));
            }
        }
        sink.stop_waiting_for_qos(Instant::now());
        sink.write_waited();
        for (key, topic) in sink.take_questions() {
            self.definitions.ask(key, topic);
        }
    }
}

fn progress(sink: &Mutex<Sink>) -> Progress {
    let sink = lock(sink);
    Progress {
        topics: sink.counts().map(|(topic, counts)| (topic.to_owned(), counts)).collect(),
        len: sink.len(),
        files: sink.files(),
    }
}

/// The QoS that the publishers of each topic offer, each with whether its history is known.
fn offered_qos(graph: &Ros2Graph) -> BTreeMap<&str, Vec<(QoS, bool)>> {
    let mut offered: BTreeMap<&str, Vec<(QoS, bool)>> = BTreeMap::new();
    for end in graph.endpoints.iter().filter(|end| is_publisher(end)) {
        if let Some(DdsTopic::Topic(topic)) = end.ros_topic() {
            offered.entry(topic).or_default().push((end.qos, end.has_history));
        }
    }
    offered
}

/// When a message was received, in nanoseconds since 1970; `None` if time is simulated and has not begun.
fn log_time(message: &RawMessage<'_>, clock: Option<&AtomicU64>) -> Option<u64> {
    match clock {
        Some(clock) => Some(clock.load(Ordering::Relaxed)).filter(|time| *time > 0),
        None => Some(message.info().received_timestamp().as_nanos().max(0).unsigned_abs()),
    }
}

fn follow_clock(node: &Node) -> Result<(Arc<AtomicU64>, Subscription), CliError> {
    let time = Arc::new(AtomicU64::new(0));
    let set = Arc::clone(&time);
    let subscription = node.create_subscription("/clock", QoS::clock(), move |clock: &Clock| {
        set.store(clock.clock.as_nanos().max(0).unsigned_abs(), Ordering::Relaxed);
    })?;
    Ok((time, subscription))
}
