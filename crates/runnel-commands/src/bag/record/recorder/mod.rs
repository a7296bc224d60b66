//! The recorder: subscribes to topics as they appear, and keeps the bag safe.
//!
//! Callbacks of the context store the messages; see [`Sink`]. Its owner spins the context, and calls [`Recorder::step`]
//! several times a second on another thread.

mod bridges;
mod control;
mod definitions;
mod derived_types;
mod handover;
mod master_query;
mod offered_qos;
mod options;
mod periodic_sync;
mod progress;
mod recording_clock;
mod static_topics;
mod subscriptions;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use runnel::core::schema::Schema;
use runnel::{Context, Graphs, Node, RawMessage, Ros2Graph, Subscription};
use runnel_bag::rosbag2::offered_qos::to_yaml;

use bridges::Bridges;
pub use control::Control;
use definitions::{Answer, Definitions};
pub use definitions::{has_sum, stored};
use handover::Side;
use master_query::{MasterQuery, Ros1Graph};
pub use options::Options;
use periodic_sync::PeriodicSync;
pub use progress::Progress;
use recording_clock::RecordingClock;
use static_topics::{StaticTopic, StaticTopics};
use subscriptions::{Recorded, Subscriptions};

use super::sink::{Arrival, Bags, Sink, Split};
use crate::error::CliError;
use crate::graphs::Topics;
use crate::streaming::lock;
use crate::types::Types;

/// Part of the time at risk after which the bag is written to the disk: writing takes time itself.
const SYNC_SHARE: f64 = 0.8;

/// Most topics of a recording: peers can have any number.
const MOST_TOPICS: usize = 4096;

/// The subscriptions of a recording, and the bag.
pub struct Recorder {
    context: Context,
    node: Node,
    options: Options,
    sink: Arc<Mutex<Sink>>,
    subscriptions: Subscriptions,
    /// Topics that cannot be subscribed.
    refused: BTreeSet<String>,
    definitions: Definitions,
    clock: RecordingClock,
    _clock_subscription: Option<Subscription>,
    control: Control,
    master: MasterQuery,
    bridges: Bridges,
    has_discovered: bool,
    sync: PeriodicSync,
    /// Topics that are subscribed with a type before there is a publisher.
    static_topics: StaticTopics,
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
        let sink = Arc::new(Mutex::new(Sink::new(bags, options.sink.clone())?));
        let sync = PeriodicSync::start(Arc::clone(&sink), options.max_loss.mul_f64(SYNC_SHARE));
        let (clock, clock_subscription) = match options.sim_time {
            true => {
                RecordingClock::simulated(node).map(|(clock, subscription)| (clock, Some(subscription)))?
            }
            false => (RecordingClock::default(), None),
        };
        let static_topics = static_topics::with_schemas(&options.static_topics, context.graphs(), &load)?;
        let control = Control::new(Arc::clone(&sink), clock.clone(), options.discovery);
        let mut recorder = Self {
            definitions: Definitions::new(&context, node, load),
            node: node.clone(),
            sink,
            subscriptions: Subscriptions::default(),
            refused: BTreeSet::new(),
            clock,
            _clock_subscription: clock_subscription,
            control,
            master: MasterQuery::default(),
            // Before the first subscription, so that no latched message of a bridge to another graph is left out.
            bridges: Bridges::of_context(&context)?,
            context,
            has_discovered: false,
            sync: sync.map_err(|error| CliError::Failed(format!("thread that syncs the bag: {error}")))?,
            static_topics,
            options,
        };
        for topic in recorder.options.topics.names.clone() {
            recorder.subscribe(&topic)?;
        }
        Ok(recorder)
    }

    /// Subscribes to new topics, and stores what waited for a definition.
    ///
    /// # Errors
    /// When the graph cannot be read.
    pub fn step(&mut self) -> Result<(), CliError> {
        let ros2 = match self.context.graphs() {
            Graphs::Ros1 => None,
            _ => self.context.ros2_graph()?,
        };
        let ros1 = self.master.poll(&self.context);
        if let (Some(ros1), Some(ros2)) = (&ros1, &ros2) {
            self.bridges.update(ros1, ros2);
        }
        if self.options.topics.discovers() && (self.control.discovers() || !self.has_discovered) {
            self.discover(ros1.as_ref(), ros2.as_ref());
        }
        let ros2 = ros2.unwrap_or_default();
        self.follow_publishers(&ros2);
        self.describe(&ros2);
        self.subscriptions.count_lost(&mut lock(&self.sink), &[]);
        Ok(())
    }

    /// Control of the recording.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Whether the recording has ended by itself: a limit is reached, or the disk failed.
    pub fn has_ended(&self) -> bool {
        lock(&self.sink).has_ended()
    }

    /// The numbers until now.
    pub fn progress(&self) -> Progress {
        Progress::of(&self.sink)
    }

    /// The splits since the last call.
    pub fn take_splits(&self) -> Vec<Split> {
        lock(&self.sink).take_splits()
    }

    /// Records what has arrived, ends the subscriptions and completes the bag.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(mut self) -> Result<Progress, CliError> {
        let waiting = match self.has_ended() {
            true => Ok(Vec::new()),
            false => self.subscriptions.drain(&self.context),
        };
        // The graph may have been left, so it says no more than before.
        self.describe(&Ros2Graph::default());
        let waiting = waiting.map(|waiting| self.subscriptions.count_lost(&mut lock(&self.sink), &waiting));
        // A callback that runs holds the sink, so it is not held here.
        self.subscriptions.clear();
        let finished = lock(&self.sink).finish();
        drop(self.sync);
        finished.and(waiting)?;
        Ok(Progress::of(&self.sink))
    }

    /// Subscribes to the selected topics that have appeared. Those that cannot be subscribed are named once.
    fn discover(&mut self, ros1: Option<&Ros1Graph>, ros2: Option<&Ros2Graph>) {
        let mut topics = Topics::default();
        if let Some(graph) = ros2 {
            topics.add_ros2(graph);
        }
        // Without the master's answer, the topics that are known stay.
        if let Some(Ros1Graph { state, types }) = ros1 {
            topics.add_ros1(state, types);
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
        if self.subscriptions.contains(name) || self.subscriptions.len() >= MOST_TOPICS {
            return Ok(());
        }
        let topic = lock(&self.sink).add_topic(name);
        let recorded = match self.static_topics.get(name).cloned() {
            None => self.subscription((name, topic), None, |_| true),
            Some(StaticTopic { schema, handover }) => {
                let takes = move |message: &Arrival<'_>| handover.takes(Side::Earlier, message);
                self.subscription((name, topic), Some(&schema), takes)
            }
        };
        let recorded = recorded.inspect_err(|_| lock(&self.sink).abandon(topic))?;
        self.subscriptions.add(name, recorded);
        Ok(())
    }

    /// Replaces subscriptions of known types by those that other topics get, where publishers offer something else than they
    /// request.
    fn follow_publishers(&mut self, graph: &Ros2Graph) {
        for name in static_topics::outdated(&self.static_topics, &self.subscriptions, &self.options, graph) {
            let Some(topic) = self.subscriptions.topic(&name) else { continue };
            let Some(StaticTopic { handover, .. }) = self.static_topics.remove(&name) else { continue };
            let later = handover.clone();
            let takes = move |message: &Arrival<'_>| later.takes(Side::Later, message);
            match self.subscription((&name, topic), None, takes) {
                Ok(recorded) => {
                    handover.begin();
                    self.subscriptions.replace(&name, recorded);
                }
                // The recording ends.
                Err(_) if !self.context.ok() => return,
                Err(why) => log::warn!("topic {name}: not all publishers are recorded: {why}"),
            }
        }
        self.subscriptions.end_replaced();
    }

    /// A subscription to a topic at this position of the sink, of a type if it has one before there is a publisher. It records
    /// the messages that `takes` accepts.
    fn subscription(
        &self,
        (name, topic): (&str, usize),
        schema: Option<&Schema>,
        takes: impl Fn(&Arrival<'_>) -> bool + Send + 'static,
    ) -> Result<Recorded, CliError> {
        let (sink, clock) = (Arc::clone(&self.sink), self.clock.clone());
        let bridges = (self.context.graphs() == Graphs::Both).then(|| self.bridges.clone());
        let take = move |message: &RawMessage<'_>| {
            let is_repeated = bridges.as_ref().is_some_and(|bridges| bridges.repeats(message.publisher()));
            if let Some(log_time) = clock.log_time(message).filter(|_| !is_repeated) {
                let arrival = Arrival::new(message, log_time);
                if takes(&arrival) {
                    lock(&sink).take(topic, &arrival);
                }
            }
        };
        let options = match schema {
            Some(_) => self.options.of_typed_subscription(name),
            None => self.options.of_subscription(name),
        };
        Recorded::subscribe(&self.node, (name, schema), options, topic, take)
    }

    /// Passes on the definitions and the QoS that are known, and asks for those that are not.
    fn describe(&self, graph: &Ros2Graph) {
        let answers: Vec<Answer> = self.definitions.answers().collect();
        let mut sink = lock(&self.sink);
        let channels = sink.channels_mut();
        for Answer { key, definition } in answers {
            let definition = definition.unwrap_or_else(|why| {
                log::warn!("type {}: recorded as bytes, without a definition: {why}", key.name);
                runnel_bag::Schema::default()
            });
            channels.define(key, definition);
        }
        for (name, offered) in offered_qos::of_topics(graph) {
            if let Some(topic) = self.subscriptions.topic(name) {
                channels.set_offered_qos(topic, to_yaml(&offered));
            }
        }
        channels.stop_waiting_for_qos(Instant::now());
        for (key, topic) in channels.take_questions() {
            self.definitions.ask(key, topic);
        }
        sink.store_waited();
    }
}
