//! Which graphs a command is about.

use std::time::Duration;

use runnel::Graphs;

use crate::error::CliError;
use crate::graph::Graph;
use crate::session::Session;

/// How long a master may take that nobody asked for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Which graphs a command is about: both, unless the user narrows it.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Which {
    /// Only ROS 1, whose master must answer [default: both, ROS 1 if a master answers]
    #[arg(long, conflicts_with = "ros2")]
    ros1: bool,

    /// Only ROS 2
    #[arg(long)]
    ros2: bool,
}

/// The graphs that are there.
pub struct There {
    /// Which they are.
    pub graphs: Graphs,
    /// Where a master was looked for and none answered.
    pub no_master_at: Option<String>,
}

impl Which {
    /// The graphs that are there. One of ROS 1 is there if its master answers.
    ///
    /// # Errors
    /// When the user asked for ROS 1 and no master answers, or the environment is malformed.
    pub fn decide(self, session: &Session) -> Result<There, CliError> {
        if self.ros2 {
            return Ok(There { graphs: Graphs::Ros2, no_master_at: None });
        }
        let context = session.asking()?;
        if self.ros1 {
            Graph::new(&context).check_master()?;
            return Ok(There { graphs: Graphs::Ros1, no_master_at: None });
        }
        let answers = Graph::within(&context, PATIENCE).check_master().is_ok();
        let graphs = if answers { Graphs::Both } else { Graphs::Ros2 };
        let no_master_at = (!answers).then(|| context.master_uri().to_string());
        Ok(There { graphs, no_master_at })
    }
}
