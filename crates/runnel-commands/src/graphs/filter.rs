//! Selection of the graphs that a command uses.

use std::time::Duration;

use runnel::Graphs;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;

/// How long a master may take that no option requires.
const MASTER_TIMEOUT: Duration = Duration::from_secs(1);

/// Selection of the graphs that a command uses: both by default.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct GraphFilter {
    /// Only ROS 1; its master must answer [default: ROS 2, and ROS 1 if its master answers]
    #[arg(long, conflicts_with = "ros2")]
    ros1: bool,

    /// Only ROS 2
    #[arg(long)]
    ros2: bool,
}

/// The available graphs.
pub struct AvailableGraphs {
    /// The graphs.
    pub graphs: Graphs,
    /// The URI of a master that was tried and did not answer.
    pub no_master_at: Option<String>,
}

impl GraphFilter {
    /// Only ROS 1.
    #[cfg(feature = "bag")]
    pub fn only_ros1() -> Self {
        Self { ros1: true, ros2: false }
    }

    /// Only ROS 2.
    #[cfg(feature = "bag")]
    pub fn only_ros2() -> Self {
        Self { ros1: false, ros2: true }
    }

    /// Whether the user restricts the command to ROS 1.
    pub fn is_only_ros1(self) -> bool {
        self.ros1
    }

    /// Whether the user restricts the command to ROS 2.
    pub fn is_only_ros2(self) -> bool {
        self.ros2
    }

    /// Finds the available graphs. ROS 1 is available if its master answers.
    ///
    /// # Errors
    /// When ROS 1 is requested and no master answers, or the environment is malformed.
    pub fn available_graphs(self, cli: &CliContext) -> Result<AvailableGraphs, CliError> {
        if self.ros2 || cli.is_only_in_ros2() {
            return Ok(AvailableGraphs { graphs: Graphs::Ros2, no_master_at: None });
        }
        let context = cli.query_context()?;
        if self.ros1 {
            Graph::new(&context).check_master()?;
            return Ok(AvailableGraphs { graphs: Graphs::Ros1, no_master_at: None });
        }
        let answers = Graph::within(&context, MASTER_TIMEOUT).check_master().is_ok();
        let graphs = if answers { Graphs::Both } else { Graphs::Ros2 };
        let no_master_at = (!answers).then(|| context.master_uri().to_string());
        Ok(AvailableGraphs { graphs, no_master_at })
    }
}
