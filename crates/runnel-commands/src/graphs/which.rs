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

impl Which {
    /// The graphs that are there. One of ROS 1 is there if its master answers.
    ///
    /// # Errors
    /// When the user asked for ROS 1 and no master answers, or the environment is malformed.
    pub fn decide(self, session: &Session) -> Result<Graphs, CliError> {
        if self.ros2 {
            return Ok(Graphs::Ros2);
        }
        let context = session.asking()?;
        if self.ros1 {
            Graph::new(&context).check_master()?;
            return Ok(Graphs::Ros1);
        }
        match Graph::within(&context, PATIENCE).check_master() {
            Ok(()) => Ok(Graphs::Both),
            Err(_) => {
                if session.names_master() {
                    let uri = context.master_uri();
                    session.output.note(&format!("no master at {uri}: ROS 1 is left out"));
                }
                Ok(Graphs::Ros2)
            }
        }
    }
}
