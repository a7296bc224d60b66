//! Discovery time of commands in the ROS 2 graph, which has no central registry.

use std::time::{Duration, Instant};

use runnel::{Context, Ros2Graph};

use crate::cli_context::CliContext;
use crate::error::{CliError, unless_interrupted};
use crate::value_parsers;

/// Participants usually answer within this time.
const MIN_DISCOVERY: Duration = Duration::from_millis(200);

/// How long to wait for participants that answer later, as on a busy machine.
const MAX_DISCOVERY: Duration = Duration::from_secs(1);

/// Participants that were not the first may take this many times as long as the latest one until now.
const SLOWEST: u32 = 4;

/// How long to wait for participants that have announced themselves but not all their endpoints.
const LATE_PARTICIPANTS: Duration = Duration::from_secs(2);

/// Discovery time of a command.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Discovery {
    /// Listen for ROS 2 nodes for at least this long [default: 0.2]
    #[arg(long, alias = "spin-time", value_name = "SECONDS", value_parser = value_parsers::seconds)]
    wait: Option<Duration>,

    /// Accepted as in ros2; there is no daemon
    #[arg(long, hide = true)]
    no_daemon: bool,
}

impl Discovery {
    /// Discovery for at least this time.
    pub fn at_least(wait: Option<Duration>) -> Self {
        Self { wait, no_daemon: true }
    }

    /// The minimum discovery time.
    pub fn minimum(&self) -> Duration {
        self.wait.unwrap_or(MIN_DISCOVERY)
    }

    /// How long it takes at most to find a first participant.
    pub fn maximum(&self) -> Duration {
        self.wait.unwrap_or(MAX_DISCOVERY)
    }

    /// Discovers as [`Discovery::discover`], but waits longer for a first participant, unless the user gave a time. For
    /// commands that have found no master.
    ///
    /// # Errors
    /// As [`Discovery::discover`].
    pub fn discover_first(&self, cli: &CliContext, context: &Context) -> Result<Ros2Graph, CliError> {
        let graph = self.discover(cli, context)?;
        let left = self.maximum().saturating_sub(self.minimum());
        let has_other = |graph: &Ros2Graph| graph.participants.iter().any(|one| !one.is_own);
        if graph.participants.is_empty() && unless_interrupted(context.wait_for_ros2_graph(left, has_other))?
        {
            return self.discover(cli, context);
        }
        Ok(graph)
    }

    /// Discovers the ROS 2 graph until all participants have announced all their endpoints. A note names those that
    /// have not in time.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn discover(&self, cli: &CliContext, context: &Context) -> Result<Ros2Graph, CliError> {
        let graph = self.discover_within(context, LATE_PARTICIPANTS)?;
        late_participants(&graph).iter().for_each(|line| cli.output.note(line));
        Ok(graph)
    }

    /// The same without a note, waiting at most this long for participants that have announced themselves.
    ///
    /// # Errors
    /// As [`Discovery::listen`].
    pub fn discover_within(&self, context: &Context, max_wait: Duration) -> Result<Ros2Graph, CliError> {
        let minimum = self.minimum();
        let start = Instant::now();
        self.listen(context, start)?;
        if minimum.is_zero() {
            return Ok(Ros2Graph::default());
        }
        let left = max_wait.max(minimum).saturating_sub(start.elapsed());
        unless_interrupted(context.wait_for_ros2_graph(left, Ros2Graph::is_complete))?;
        let mut graph = context.ros2_graph()?.unwrap_or_default();
        remove_own(&mut graph);
        Ok(graph)
    }

    /// Listens for the minimum, or until no more participants are expected. Where one answers late, others may be later.
    fn listen(&self, context: &Context, start: Instant) -> Result<(), CliError> {
        let (mut until, mut known) = (self.minimum(), 0);
        let mut has_news = |graph: &Ros2Graph| {
            let others = graph.participants.iter().filter(|one| !one.is_own).count();
            std::mem::replace(&mut known, others) < others
        };
        while unless_interrupted(
            context.wait_for_ros2_graph(until.saturating_sub(start.elapsed()), &mut has_news),
        )? {
            until = until.max(self.maximum().min(SLOWEST * start.elapsed()));
        }
        Ok(())
    }
}

/// A line for each participant that has not announced all its endpoints.
fn late_participants(graph: &Ros2Graph) -> Vec<String> {
    let late = graph.participants.iter().filter(|participant| !participant.is_complete);
    let line = late.map(|late| {
        let at = late.addresses.first().map_or(String::new(), |address| format!(" at {address}"));
        let what = if late.answers { "has not announced all its endpoints" } else { "does not answer" };
        format!("{}{at} {what} (see --wait)", late.vendor)
    });
    line.collect()
}

/// Removes this program's own participant from the graph.
fn remove_own(graph: &mut Ros2Graph) {
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
    fn late_participant_is_named_with_its_address() {
        let mut graph = graph(&[]);
        graph.participants = vec![participant(1), participant(2), participant(3)];
        graph.participants[1].is_complete = false;
        (graph.participants[2].is_complete, graph.participants[2].answers) = (false, false);
        let expected = [
            "Fast DDS at 10.0.0.2:7410 has not announced all its endpoints (see --wait)",
            "Fast DDS at 10.0.0.3:7410 does not answer (see --wait)",
        ];
        assert_eq!(late_participants(&graph), expected);
    }

    #[test]
    fn own_participant_is_removed() {
        let mut graph = graph(&[("rt/a", 1, true), ("rt/b", 2, true)]);
        graph.participants[0].is_own = true;
        remove_own(&mut graph);
        let topics: Vec<_> = graph.endpoints.iter().map(|end| end.dds_topic.as_str()).collect();
        assert_eq!((topics, graph.participants.len()), (vec!["rt/b"], 1));
    }
}
