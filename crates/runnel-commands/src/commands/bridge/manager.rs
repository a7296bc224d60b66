//! The running bridge: reads both graphs again and again, and begins and ends to carry topics, services and actions.

use std::thread;
use std::time::{Duration, Instant};

use runnel::bridge::{BridgeMark, bridge_node_name};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Graphs, Node, Publisher, QoS};
use runnel_bridge::decision::BridgeId;

use super::Options;
use super::actions::Actions;
use super::graphs::{Ros1View, Ros2View, ends};
use super::parameters::Parameters;
use super::report::{self, CallCounts, Report};
use super::resources::Resources;
use super::services::Services;
use super::topics::Topics;
use crate::actions::within;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;

/// How often both graphs are read.
const PERIOD: Duration = Duration::from_millis(200);

/// How often topics that wait for a connection are checked, and goals that are not accepted.
const STEP: Duration = Duration::from_millis(10);

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
    ros1: Context,
    ros2: Context,
    /// What the ROS 1 graph was when the master answered last.
    ros1_view: Ros1View,
    /// The number of the ROS 1 graph, once the master has answered.
    ros1_graph: Option<u64>,
    master_answers: bool,
    resources: Resources<'a>,
    topics: Topics,
    services: Services,
    actions: Actions,
    parameters: Parameters,
    reporter: Reporter,
    started: Instant,
    has_listened: bool,
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
    let (master, domain) = (bridge.ros1.master_uri(), bridge.ros2.domain_id().unwrap_or_default());
    cli.output.note(&format!(
        "bridge between the master {master} and ROS 2 domain {domain}; 'runnel bridge --status' shows what waits"
    ));
    thread::scope(|scope| {
        let threads =
            [bridge.ros1.clone(), bridge.ros2.clone()].map(|context| scope.spawn(move || context.spin()));
        let ended = bridge.work();
        bridge.services.table().clear();
        bridge.actions.table().clear();
        bridge.parameters.clear();
        bridge.topics.clear();
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
    fn new(cli: &'a CliContext, options: &'a Options) -> Result<Self, CliError> {
        let id = BridgeId(runnel_io::host::random().map_err(CliError::failed)?);
        let (ros1, ros2) = (context(cli, Graphs::Ros1, false)?, context(cli, Graphs::Ros2, true)?);
        let name = bridge_node_name(id.0);
        let nodes = [ros1.create_node(&name)?, ros2.create_node(&name)?];
        let reporter = Reporter::new(&nodes[1])?;
        let resources = Resources::new(cli, id, nodes, options)?;
        Ok(Self {
            options,
            ros1,
            ros2,
            ros1_view: Ros1View::default(),
            ros1_graph: None,
            master_answers: true,
            services: Services::new(&resources),
            resources,
            topics: Topics::default(),
            actions: Actions::default(),
            parameters: Parameters::default(),
            reporter,
            started: Instant::now(),
            has_listened: false,
        })
    }

    /// Works until the ROS 2 context ends, by Ctrl-C.
    fn work(&mut self) -> Result<(), CliError> {
        while self.ros2.ok() {
            self.query_master();
            if let Some(ros1_graph) = self.ros1_graph {
                self.update(ros1_graph)?;
            }
            self.report()?;
            self.wait_for_period()?;
        }
        Ok(())
    }

    /// Waits until both graphs are read again. Topics whose types or subscribers are awaited continue meanwhile, and goals
    /// that are not accepted.
    fn wait_for_period(&mut self) -> Result<(), CliError> {
        let until = Instant::now() + PERIOD;
        while self.ros2.ok() {
            let is_waiting = self.topics.advance(&mut self.resources)? | self.actions.advance();
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.ros2.sleep_wall(if is_waiting { STEP.min(left) } else { left })?;
        }
        Ok(())
    }

    /// Asks the master. If it does not answer, its last answer stays, as links do.
    fn query_master(&mut self) {
        let graph = Graph::within(&self.ros1, MASTER_DEADLINE);
        let view = graph.system_state().and_then(|state| Ok(Ros1View { state, types: graph.topic_types()? }));
        match view {
            Ok(view) => {
                self.ros1_view = view;
                self.resources.ros1_views += 1;
                self.master_answers = true;
                self.mark();
            }
            Err(error) => {
                if std::mem::replace(&mut self.master_answers, false) {
                    log::warn!("{error}. The bridge begins, or goes on, when the master answers");
                }
            }
        }
    }

    /// Marks the endpoints of this bridge in ROS 2 with the ROS 1 graph.
    fn mark(&mut self) {
        if self.ros1_graph.is_some() {
            return;
        }
        let name = self.resources.ros1.full_name().to_owned();
        let Some(ros1_graph) = self.ros1.ros1_graph(&name) else { return };
        if self.ros2.mark_as_bridge(BridgeMark { bridge: self.resources.id.0, ros1_graph }).is_ok() {
            self.ros1_graph = Some(ros1_graph);
            self.parameters = Parameters::new(&self.resources, &self.options.parameters);
        }
    }

    /// Decides about all topics, services and actions.
    fn update(&mut self, ros1_graph: u64) -> Result<(), CliError> {
        let graph = self.ros2.ros2_graph()?.unwrap_or_default();
        let [least, most] = LISTENING;
        let listened = self.started.elapsed();
        self.has_listened |= listened >= most || listened >= least && graph.is_complete();
        if !self.has_listened {
            return Ok(());
        }
        let marks = self.ros2.marked_endpoints().into_iter().collect();
        let ros2_view = Ros2View { graph, marks, ros1_graph };
        let selection = &self.options.selection;
        let mut topics = ends(&self.ros1_view, &ros2_view);
        topics.retain(|topic, _| selection.has_topic(topic));
        self.topics.update(&mut self.resources, topics)?;
        let views = (&self.ros1_view, &ros2_view);
        self.services.update(&mut self.resources, views, selection)?;
        self.actions.update(&mut self.resources, views, selection)
    }

    fn report(&mut self) -> Result<(), CliError> {
        let topics = self.topics.rows();
        let (services, actions) = (self.services.table().rows(), self.actions.table().rows());
        let of_topics = topics.iter().map(|row| ("topic", &row.topic, &row.remarks));
        let of_services = services.iter().map(|row| ("service", &row.name, &row.remarks));
        let of_actions = actions.iter().map(|row| ("action", &row.name, &row.remarks));
        let parameters = self.parameters.rows();
        let of_parameters = parameters.iter().map(|row| ("parameters of", &row.node, &row.remarks));
        for (kind, name, remarks) in of_topics.chain(of_services).chain(of_actions).chain(of_parameters) {
            for remark in remarks {
                self.resources.log.warn(format!("{kind} {name}: {remark}"));
            }
        }
        self.reporter.publish(Report {
            bridge: self.resources.ros2.full_name().to_owned(),
            master: self.ros1.master_uri().to_string(),
            master_answers: self.master_answers,
            domain: self.ros2.domain_id().unwrap_or_default(),
            topics,
            waiting: self.topics.waiting(&within(&self.ros1_view.state, &self.ros1_view.types)),
            services,
            actions,
            parameters,
        })
    }
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
    for row in report.services.iter_mut().chain(&mut report.actions) {
        row.counts = CallCounts::default();
    }
    report
}
