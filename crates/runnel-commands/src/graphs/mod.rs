//! Both ROS graphs as commands use them: which are available, and their content.

mod discovery;
mod filter;
mod finding;
mod not_found;
mod query;
mod services;
mod topic_query;
mod topics;

pub use discovery::Discovery;
use filter::AvailableGraphs;
pub use filter::GraphFilter;
pub use finding::{Finding, Found, Target};
pub use not_found::DiscoveredRos2;
pub use query::Query;
pub use services::{Ros2Service, Service, Services};
pub use topic_query::TopicQuery;
#[cfg(test)]
pub use topics::tests;
pub use topics::{Side, Topic, Topics, holder, is_hidden, is_publisher, publishes};

use std::time::Duration;

use runnel::core::schema::Generation;
use runnel::{Context, Graphs, ParticipantInfo, Ros2Graph};

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;

/// The graphs that a command uses.
pub struct GraphSnapshot {
    context: Context,
    /// The available graphs.
    graphs: Graphs,
    /// The discovered ROS 2 graph, without this program's own participant; `None` if ROS 2 is not used.
    pub ros2: Option<Ros2Graph>,
    /// Whether any graph was found.
    pub presence: Presence,
}

/// Whether a command that looked for both graphs has found any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Found,
    /// Neither a master nor a ROS 2 participant.
    Nothing,
}

impl Presence {
    /// Result of a command that lists: exit code 1 if no graph was found, as in rostopic and rosnode. A note was
    /// printed.
    ///
    /// # Errors
    /// If no graph was found.
    pub fn check(self) -> Result<(), CliError> {
        match self {
            Self::Found => Ok(()),
            Self::Nothing => Err(CliError::Answered),
        }
    }
}

impl GraphSnapshot {
    /// Opens the available graphs, for a command that asks and ends.
    ///
    /// # Errors
    /// When a requested graph cannot be reached.
    pub fn open(cli: &CliContext, filter: GraphFilter, discovery: &Discovery) -> Result<Self, CliError> {
        let available = filter.available_graphs(cli)?;
        let context = cli.query_context_in(available.graphs)?;
        Self::discovered(cli, context, &available, discovery)
    }

    /// The same for a command that runs until Ctrl-C. It joins the ROS 1 graph when its master starts, unless the
    /// user restricts it to ROS 2.
    ///
    /// # Errors
    /// As [`GraphSnapshot::open`].
    pub fn open_running(
        cli: &CliContext,
        filter: GraphFilter,
        discovery: &Discovery,
    ) -> Result<Self, CliError> {
        let available = filter.available_graphs(cli)?;
        let context = match available.no_master_at {
            Some(_) => cli.running_context_without_master()?,
            None => cli.running_context_in(available.graphs)?,
        };
        Self::discovered(cli, context, &available, discovery)
    }

    fn discovered(
        cli: &CliContext,
        context: Context,
        available: &AvailableGraphs,
        discovery: &Discovery,
    ) -> Result<Self, CliError> {
        let (ros2, within) = match available.graphs {
            Graphs::Ros1 => (None, Duration::ZERO),
            Graphs::Ros2 => (Some(discovery.discover_first(cli, &context)?), discovery.maximum()),
            Graphs::Both => (Some(discovery.discover(cli, &context)?), discovery.minimum()),
        };
        if let (Graphs::Ros2, Some(discovered)) = (available.graphs, &ros2) {
            let listener = not_found::Listener::of(&context, within);
            not_found::note_missing(cli, available.no_master_at.as_deref(), discovered, &listener);
        }
        let is_empty = ros2.as_ref().is_some_and(|discovered| discovered.participants.is_empty());
        let nothing = available.no_master_at.is_some() && is_empty && !within.is_zero();
        let presence = if nothing { Presence::Nothing } else { Presence::Found };
        Ok(Self { context, graphs: available.graphs, ros2, presence })
    }

    /// The context of the graphs.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The ROS 1 graph, if it is available.
    pub fn ros1(&self) -> Option<Graph<'_>> {
        (self.graphs != Graphs::Ros2).then(|| Graph::new(&self.context))
    }

    /// The generation whose form messages have: ROS 1, if it is available.
    pub fn generation(&self) -> Generation {
        if self.graphs == Graphs::Ros2 { Generation::Ros2 } else { Generation::Ros1 }
    }

    /// The topics of both graphs.
    ///
    /// # Errors
    /// When the master does not answer.
    pub fn topics(&self) -> Result<Topics, CliError> {
        let mut topics = Topics::default();
        if let Some(graph) = self.ros1() {
            topics.add_ros1(&graph.system_state()?, &graph.topic_types()?);
        }
        if let Some(graph) = &self.ros2 {
            topics.add_ros2(graph);
        }
        Ok(topics)
    }

    /// The services of both graphs.
    ///
    /// # Errors
    /// When the master does not answer.
    pub fn services(&self) -> Result<Services, CliError> {
        let mut services = Services::default();
        if let Some(graph) = self.ros1() {
            services.add_ros1(&graph.system_state()?);
        }
        if let Some(graph) = &self.ros2 {
            services.add_ros2(graph);
        }
        Ok(services)
    }
}

/// The names of the graphs that something is in.
pub fn graph_names(ros1: bool, ros2: bool) -> &'static str {
    match (ros1, ros2) {
        (true, true) => "ROS 1, ROS 2",
        (true, false) => "ROS 1",
        (false, _) => "ROS 2",
    }
}

/// The same for programs.
pub fn keys(ros1: bool, ros2: bool) -> Vec<&'static str> {
    [(ros1, "ros1"), (ros2, "ros2")]
        .into_iter()
        .filter(|(available, _)| *available)
        .map(|(_, key)| key)
        .collect()
}

/// The nodes of the ROS 2 graph that tools list, once for each node.
pub fn visible_nodes(graph: &Ros2Graph) -> impl Iterator<Item = &str> {
    graph.nodes.iter().map(|node| node.full_name.as_str()).filter(|name| !is_hidden(name))
}

/// Vendor and address of a participant.
pub fn place(participant: &ParticipantInfo) -> String {
    place_of_process(participant, None)
}

/// The same with the id of its process, if that is on this host and known.
pub fn place_of_process(participant: &ParticipantInfo, pid: Option<i32>) -> String {
    let here = match (participant.is_same_host, pid) {
        (true, Some(pid)) => format!(" (this host, process {pid})"),
        (true, None) => " (this host)".to_owned(),
        (false, _) => String::new(),
    };
    let at = participant.addresses.first().map_or(String::new(), |address| format!(" at {address}"));
    format!("{}{at}{here}", participant.vendor)
}
