//! Finding the graph in which a service or an action is to be used: ROS 2, else ROS 1.

use std::time::{Duration, Instant};

use runnel::{Context, Ros2Graph};

use super::{Discovery, GraphFilter};
use crate::cli_context::CliContext;
use crate::error::{CliError, unless_interrupted};
use crate::graph::Graph;
use crate::streaming::POLL_PERIOD;

/// How long a master may take that no option requires.
const MASTER_TIMEOUT: Duration = Duration::from_secs(1);

/// How long something in ROS 2 may take to appear that is not in the graph after discovery.
const LATE: Duration = Duration::from_secs(1);

/// Where to look.
#[derive(Clone, Debug, clap::Args)]
pub struct Finding {
    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

/// What to look for.
pub struct Target<'a> {
    /// Whether ROS 2 has it.
    pub is_in_ros2: &'a dyn Fn(&Ros2Graph) -> bool,
    /// Whether ROS 1 has it.
    pub is_in_ros1: &'a dyn Fn(&Graph<'_>) -> Result<bool, CliError>,
}

/// The graph that has it.
pub enum Found {
    Ros1,
    Ros2(Ros2Graph),
    /// Neither, with the reason if ROS 1 could not be searched.
    Nothing(Option<CliError>),
}

impl Finding {
    /// In these graphs, after this discovery.
    pub fn new(filter: GraphFilter, discovery: Discovery) -> Self {
        Self { filter, discovery }
    }

    /// Whether the user restricts the command to ROS 1. Then nothing is searched: the command looks there itself.
    pub fn is_only_ros1(&self) -> bool {
        self.filter.is_only_ros1()
    }

    /// Searches both graphs. `ros2` is a context in ROS 2.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn find(&self, cli: &CliContext, ros2: &Context, target: &Target<'_>) -> Result<Found, CliError> {
        let graph = self.discovery.discover(cli, ros2)?;
        if (target.is_in_ros2)(&graph) {
            return Ok(Found::Ros2(graph));
        }
        let why = match self.is_in_ros1(cli, target) {
            Ok(true) => return Ok(Found::Ros1),
            Ok(false) => None,
            Err(why) => Some(why),
        };
        if unless_interrupted(ros2.wait_for_ros2_graph(LATE, target.is_in_ros2))? {
            return Ok(Found::Ros2(ros2.ros2_graph()?.unwrap_or_default()));
        }
        Ok(Found::Nothing(why))
    }

    /// Searches both graphs again and again, until one has it, the time is over or the wait is interrupted.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait(
        &self,
        cli: &CliContext,
        ros2: &Context,
        target: &Target<'_>,
        (timeout, is_interrupted): (Option<Duration>, &dyn Fn() -> bool),
    ) -> Result<Found, CliError> {
        let start = Instant::now();
        while timeout.is_none_or(|timeout| start.elapsed() < timeout) && !is_interrupted() {
            if unless_interrupted(ros2.wait_for_ros2_graph(POLL_PERIOD, target.is_in_ros2))? {
                return Ok(Found::Ros2(ros2.ros2_graph()?.unwrap_or_default()));
            }
            if self.is_in_ros1(cli, target).unwrap_or_default() {
                return Ok(Found::Ros1);
            }
        }
        Ok(Found::Nothing(None))
    }

    fn is_in_ros1(&self, cli: &CliContext, target: &Target<'_>) -> Result<bool, CliError> {
        if self.filter.is_only_ros2() {
            return Ok(false);
        }
        (target.is_in_ros1)(&Graph::within(&cli.query_context()?, MASTER_TIMEOUT))
    }
}
