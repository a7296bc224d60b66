//! The running bridge: looks at both graphs again and again, and begins and ends to carry topics.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use runnel::bridge::{BridgeMark, bridge_node_name};
use runnel::core::schema::{Generation, Kind};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Graphs, Node, Publisher, QoS};
use runnel_bridge::decision::{BridgeId, Direction, Own, Verdict, decide};
use serde_json::json;

use super::Options;
use super::carrier::{Carrier, Workshop};
use super::graphs::{Ends, Ros1View, Ros2View, ends};
use super::master_identity::ros1_graph;
use super::report::{self, Report, Row, State};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::Output;
use crate::types::spelt;

/// How often both graphs are looked at.
const PERIOD: Duration = Duration::from_millis(200);

/// How long the master may take to answer.
const MASTER_DEADLINE: Duration = Duration::from_secs(1);

/// How long a new bridge listens for other bridges before it carries anything: at least, and at most.
const LISTENING: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(3)];

/// How long the end of a publisher waits for subscribers that have not received its last messages.
const LINGER: Duration = Duration::from_millis(200);

/// How often counts are published.
const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// See the module's documentation.
struct Bridge<'a> {
    options: &'a Options,
    output: Output,
    id: BridgeId,
    ros1: Context,
    ros2: Context,
    /// What the ROS 1 graph was when the master answered last.
    ros1_view: Ros1View,
    /// The number of the ROS 1 graph, once the master has answered.
    ros1_graph: Option<u64>,
    workshop: Workshop,
    entries: BTreeMap<(String, Direction), Entry>,
    /// Lines that were logged.
    said: BTreeSet<String>,
    reporter: Reporter,
    started: Instant,
    has_listened: bool,
}

/// One direction of a topic that has ends on both sides.
enum Entry {
    Carried(Box<Carrier>),
    OtherBridge(BridgeId),
    /// It cannot be carried as long as its ends are these.
    Refused {
        reason: String,
        ends: Box<Ends>,
    },
}

/// Publishes the report of this bridge.
struct Reporter {
    publisher: Publisher<Text>,
    last: Option<Report>,
    last_at: Instant,
}

/// Runs a bridge until Ctrl-C.
///
/// # Errors
/// If a graph cannot be joined, or the output cannot be written.
pub fn run(cli: &CliContext, options: &Options) -> Result<(), CliError> {
    let mut bridge = Bridge::new(cli, options)?;
    thread::scope(|scope| {
        let threads =
            [bridge.ros1.clone(), bridge.ros2.clone()].map(|context| scope.spawn(move || context.spin()));
        let ended = bridge.work();
        bridge.entries.clear();
        bridge.ros1.shutdown();
        bridge.ros2.shutdown();
        for spinning in threads {
            if let Ok(spun) = spinning.join() {
                spun?;
            }
        }
        ended
    })
}

/// A context in one graph. Names in arguments are not for the nodes of a bridge, which others recognize by their names.
fn context(cli: &CliContext, graphs: Graphs, signals: bool) -> Result<Context, CliError> {
    let is_name = |argument: &&String| argument.starts_with("__name:=");
    let arguments = cli.context_arguments().iter().filter(|argument| !is_name(argument));
    let options = cli.options(signals).arguments(arguments).graphs(graphs);
    Ok(Context::with_options(options.wait_for_master(false).linger(LINGER))?)
}

impl<'a> Bridge<'a> {
    fn new(cli: &CliContext, options: &'a Options) -> Result<Self, CliError> {
        let id = BridgeId(runnel_io::host::random().map_err(CliError::failed)?);
        let (ros1, ros2) = (context(cli, Graphs::Ros1, false)?, context(cli, Graphs::Ros2, true)?);
        let name = bridge_node_name(id.0);
        let (ros1_node, ros2_node) = (ros1.create_node(&name)?, ros2.create_node(&name)?);
        let reporter = Reporter::new(&ros2_node)?;
        let workshop = Workshop {
            ros1: ros1_node,
            ros2: ros2_node,
            types: cli.types()?,
            rules: options.rules.clone(),
            depth: options.depth,
        };
        Ok(Self {
            options,
            output: cli.output,
            id,
            ros1,
            ros2,
            ros1_view: Ros1View::default(),
            ros1_graph: None,
            workshop,
            entries: BTreeMap::new(),
            said: BTreeSet::new(),
            reporter,
            started: Instant::now(),
            has_listened: false,
        })
    }

    /// Works until the ROS 2 context ends, by Ctrl-C.
    fn work(&mut self) -> Result<(), CliError> {
        while self.ros2.ok() {
            let answers = self.look_at_ros1();
            if let Some(ros1_graph) = self.ros1_graph {
                self.look_at_topics(ros1_graph)?;
            }
            self.report(answers)?;
            self.ros2.sleep_wall(PERIOD)?;
        }
        Ok(())
    }

    /// Asks the master. If it does not answer, what it said last stays, as links do. Returns whether it answers.
    fn look_at_ros1(&mut self) -> bool {
        let graph = Graph::within(&self.ros1, MASTER_DEADLINE);
        let view = graph.system_state().and_then(|state| Ok(Ros1View { state, types: graph.topic_types()? }));
        match view {
            Ok(view) => {
                self.ros1_view = view;
                self.mark();
                self.said.remove(MASTER_IS_SILENT);
                true
            }
            Err(error) => {
                if self.said.insert(MASTER_IS_SILENT.to_owned()) {
                    log::warn!("{error}. The bridge begins, or goes on, when the master answers");
                }
                false
            }
        }
    }

    /// Marks the endpoints of this bridge in ROS 2 with the ROS 1 graph.
    fn mark(&mut self) {
        if self.ros1_graph.is_some() {
            return;
        }
        let name = self.workshop.ros1.full_name().to_owned();
        let Some(ros1_graph) = ros1_graph(&self.ros1, &name) else { return };
        if self.ros2.mark_as_bridge(BridgeMark { bridge: self.id.0, ros1_graph }).is_ok() {
            self.ros1_graph = Some(ros1_graph);
        }
    }

    /// Decides about all topics.
    fn look_at_topics(&mut self, ros1_graph: u64) -> Result<(), CliError> {
        let graph = self.ros2.ros2_graph()?.unwrap_or_default();
        let [least, most] = LISTENING;
        let listened = self.started.elapsed();
        self.has_listened |= listened >= most || listened >= least && graph.is_complete();
        if !self.has_listened {
            return Ok(());
        }
        let marks = self.ros2.marked_endpoints().into_iter().collect();
        let mut topics = ends(&self.ros1_view, &Ros2View { graph, marks, ros1_graph });
        topics.retain(|topic, _| self.options.topics.allow(topic));
        let gone = |(topic, _): &(String, Direction)| !topics.contains_key(topic);
        let unneeded: Vec<_> = self.entries.keys().filter(|key| gone(key)).cloned().collect();
        for key in unneeded {
            self.end(&key)?;
        }
        for (topic, ends) in &topics {
            for direction in Direction::BOTH {
                self.look_at(topic, direction, ends)?;
            }
        }
        Ok(())
    }

    fn look_at(&mut self, topic: &str, direction: Direction, ends: &Ends) -> Result<(), CliError> {
        let key = (topic.to_owned(), direction);
        let carries = matches!(self.entries.get(&key), Some(Entry::Carried(_)));
        match decide(&ends.view, direction, Own { id: self.id, carries }) {
            Verdict::NotNeeded => self.end(&key),
            Verdict::CarriedBy(other) => {
                self.end(&key)?;
                self.entries.insert(key, Entry::OtherBridge(other));
                Ok(())
            }
            Verdict::Carry => self.carry(key, ends),
        }
    }

    fn carry(&mut self, key: (String, Direction), ends: &Ends) -> Result<(), CliError> {
        match self.entries.get(&key) {
            Some(Entry::Carried(carrier)) if carrier.is_outdated(&self.workshop, ends) => self.end(&key)?,
            Some(Entry::Refused { ends: refused, .. }) if **refused == *ends => return Ok(()),
            _ => {}
        }
        if !matches!(self.entries.get(&key), Some(Entry::Carried(_))) {
            match self.workshop.carrier(&key.0, key.1, ends) {
                Ok(carrier) => {
                    self.entries.insert(key.clone(), Entry::Carried(Box::new(carrier)));
                }
                Err(reason) => return self.refuse(key, reason, ends),
            }
        }
        let Some(Entry::Carried(carrier)) = self.entries.get_mut(&key) else { return Ok(()) };
        match carrier.advance(&self.workshop, ends) {
            Ok(true) => self.announce("carries", &key),
            Ok(false) => Ok(()),
            Err(reason) => self.refuse(key, reason, ends),
        }
    }

    fn refuse(&mut self, key: (String, Direction), reason: String, ends: &Ends) -> Result<(), CliError> {
        let (topic, direction) = (&key.0, report::direction_text(report::destination(key.1)));
        let line = format!("topic {topic} is not carried from {direction}: {reason}");
        if self.said.insert(line.clone()) {
            log::warn!("{line}");
        }
        self.end(&key)?;
        self.entries.insert(key, Entry::Refused { reason, ends: Box::new(ends.clone()) });
        Ok(())
    }

    /// Ends what is done about a direction of a topic.
    fn end(&mut self, key: &(String, Direction)) -> Result<(), CliError> {
        let Some(ended) = self.entries.remove(key) else { return Ok(()) };
        let was_complete = matches!(&ended, Entry::Carried(carrier) if carrier.is_complete());
        drop(ended);
        if was_complete { self.announce("ends", key) } else { Ok(()) }
    }

    /// Prints what the bridge begins or ends to carry.
    fn announce(&self, event: &str, (topic, direction): &(String, Direction)) -> Result<(), CliError> {
        let to = report::destination(*direction);
        if self.output.json {
            return self.output.json(&json!({ "event": event, "topic": topic, "to": to }));
        }
        self.output.line(&format!("{event} {topic} from {}", report::direction_text(to)))
    }

    fn report(&mut self, master_answers: bool) -> Result<(), CliError> {
        let topics: Vec<Row> = self.entries.iter().map(|(key, entry)| row(key, entry)).collect();
        for Row { topic, remarks, .. } in &topics {
            for remark in remarks {
                let line = format!("topic {topic}: {remark}");
                if self.said.insert(line.clone()) {
                    log::warn!("{line}");
                }
            }
        }
        self.reporter.publish(Report {
            bridge: self.workshop.ros2.full_name().to_owned(),
            master: self.ros1.master_uri().to_string(),
            master_answers,
            domain: self.ros2.domain_id().unwrap_or_default(),
            topics,
        })
    }
}

/// Stands for the line that the master does not answer, which is logged again when it has answered meanwhile.
const MASTER_IS_SILENT: &str = "master";

fn row((topic, direction): &(String, Direction), entry: &Entry) -> Row {
    let mut row = Row {
        topic: topic.clone(),
        to: report::destination(*direction).to_owned(),
        state: State::Connecting,
        ros1_type: None,
        ros2_type: None,
        messages: 0,
        dropped: 0,
        refused: 0,
        remarks: Vec::new(),
    };
    match entry {
        Entry::OtherBridge(other) => row.state = State::OtherBridge(bridge_node_name(other.0)),
        Entry::Refused { reason, .. } => row.state = State::Refused(reason.clone()),
        Entry::Carried(carrier) => {
            let (counts, remarks) = carrier.forward().counts();
            row.messages = counts.messages;
            row.dropped = counts.dropped + carrier.lost();
            row.refused = counts.refused;
            row.remarks = remarks;
            if carrier.is_complete() {
                row.state = State::Carried;
            }
            if let Some(pair) = carrier.pair() {
                row.ros1_type = Some(spelt(Generation::Ros1, Kind::Message, &pair.ros1.def.name));
                row.ros2_type = Some(pair.ros2.def.ros2_name.clone());
            }
        }
    }
    row
}

impl Reporter {
    fn new(node: &Node) -> Result<Self, CliError> {
        let topic = format!("~/{}", report::TOPIC);
        let publisher = node.create_publisher::<Text>(&topic, QoS::latched())?;
        Ok(Self { publisher, last: None, last_at: Instant::now() })
    }

    /// Publishes a report that has changed; if only counts have, once per period.
    fn publish(&mut self, report: Report) -> Result<(), CliError> {
        let is_same = self.last.as_ref() == Some(&report);
        let has_same_rows =
            self.last.as_ref().is_some_and(|last| without_counts(last) == without_counts(&report));
        if is_same || has_same_rows && self.last_at.elapsed() < REPORT_PERIOD {
            return Ok(());
        }
        let data = serde_json::to_string(&report).map_err(CliError::failed)?;
        self.publisher.publish(Text { data })?;
        self.last = Some(report);
        self.last_at = Instant::now();
        Ok(())
    }
}

fn without_counts(report: &Report) -> Report {
    let mut report = report.clone();
    for row in &mut report.topics {
        (row.messages, row.dropped, row.refused) = (0, 0, 0);
    }
    report
}
