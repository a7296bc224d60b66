//! How long a command listens to the ROS 2 graph, which nobody keeps a list of.

use std::time::{Duration, Instant};

use runnel::{Context, Ros2Graph};

use crate::error::CliError;
use crate::session::Session;
use crate::value_parsers;

/// In so long all who are there have answered, unless something is amiss.
const LEAST: Duration = Duration::from_millis(200);

/// How long those are waited for who have announced themselves and not told of all they have.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// For how long a command listens.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Listening {
    /// Listen for nodes of ROS 2 for at least so long [default: 0.2]
    #[arg(long, alias = "spin-time", value_name = "SECONDS", value_parser = value_parsers::seconds)]
    wait: Option<Duration>,

    /// As for ros2, where it is what happens here anyway
    #[arg(long, hide = true)]
    no_daemon: bool,
}

impl Listening {
    /// For at least so long.
    pub fn lasting(wait: Option<Duration>) -> Self {
        Self { wait, no_daemon: true }
    }

    /// For how long at least.
    pub fn least(&self) -> Duration {
        self.wait.unwrap_or(LEAST)
    }

    /// Listens until all who are there have told of all that they have. Names those who have not in time.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn listen(&self, session: &Session, context: &Context) -> Result<Ros2Graph, CliError> {
        let graph = self.look(context, STRAGGLERS)?;
        stragglers(&graph).iter().for_each(|line| session.output.note(line));
        Ok(graph)
    }

    /// The same, waiting at most for so long for those who have announced themselves.
    ///
    /// # Errors
    /// As [`Listening::listen`].
    pub fn look(&self, context: &Context, for_stragglers: Duration) -> Result<Ros2Graph, CliError> {
        let least = self.least();
        let start = Instant::now();
        context.wait_for_ros2_graph(least, |_| false)?;
        if least.is_zero() {
            return Ok(Ros2Graph::default());
        }
        let left = for_stragglers.max(least).saturating_sub(start.elapsed());
        context.wait_for_ros2_graph(left, Ros2Graph::is_complete)?;
        let mut graph = context.ros2_graph()?.unwrap_or_default();
        leave_out_own(&mut graph);
        Ok(graph)
    }
}

/// A line for each participant that has not answered.
fn stragglers(graph: &Ros2Graph) -> Vec<String> {
    let late = graph.participants.iter().filter(|participant| !participant.is_complete);
    let line = late.map(|late| {
        let at = late.addresses.first().map_or(String::new(), |address| format!(" at {address}"));
        let what = if late.answers { "has not told of all that it has" } else { "does not answer" };
        format!("{}{at} {what} (see --wait)", late.vendor)
    });
    line.collect()
}

/// What is this program's own is of no interest to who asks for the graph.
fn leave_out_own(graph: &mut Ros2Graph) {
    let own: Vec<_> = graph.participants.iter().filter(|one| one.is_own).map(|one| one.gid).collect();
    graph.participants.retain(|participant| !participant.is_own);
    graph.nodes.retain(|node| !own.contains(&node.participant));
    graph.endpoints.retain(|endpoint| !own.contains(&endpoint.gid.participant()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::topics::tests::{graph, participant};

    #[test]
    fn who_has_not_answered_is_named_with_the_address() {
        let mut graph = graph(&[]);
        graph.participants = vec![participant(1), participant(2), participant(3)];
        graph.participants[1].is_complete = false;
        (graph.participants[2].is_complete, graph.participants[2].answers) = (false, false);
        let expected = [
            "Fast DDS at 10.0.0.2:7410 has not told of all that it has (see --wait)",
            "Fast DDS at 10.0.0.3:7410 does not answer (see --wait)",
        ];
        assert_eq!(stragglers(&graph), expected);
    }

    #[test]
    fn what_is_this_programs_own_is_left_out() {
        let mut graph = graph(&[("rt/a", 1, true), ("rt/b", 2, true)]);
        graph.participants[0].is_own = true;
        leave_out_own(&mut graph);
        let topics: Vec<_> = graph.endpoints.iter().map(|end| end.dds_topic.as_str()).collect();
        assert_eq!((topics, graph.participants.len()), (vec!["rt/b"], 1));
    }
}
