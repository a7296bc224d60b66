//! Both graphs of ROS as commands look at them: which are there, and what is in them.

mod absence;
mod asking;
mod listening;
mod topics;
mod which;

pub use absence::Heard;
pub use asking::Asking;
pub use listening::Listening;
#[cfg(test)]
pub use topics::tests;
pub use topics::{Side, Topic, Topics, is_hidden};
use which::There;
pub use which::Which;

use runnel::core::schema::Generation;
use runnel::{Context, Graphs, ParticipantInfo, Ros2Graph};

use crate::error::CliError;
use crate::graph::Graph;
use crate::session::Session;

/// What is seen of the graphs that a command is about.
pub struct Sight {
    context: Context,
    /// Those that are there.
    graphs: Graphs,
    /// What was heard of that of ROS 2, but for what is this program's own; `None` if it is left out.
    pub ros2: Option<Ros2Graph>,
    /// Whether there is a graph at all.
    pub presence: Presence,
}

/// Whether a command that looked for both graphs has found one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Found,
    /// Neither a master nor a participant of ROS 2.
    Nothing,
}

impl Presence {
    /// The end of a command that lists: exit code 1 where no graph is, which a note has said, as rostopic and rosnode have it.
    ///
    /// # Errors
    /// Where no graph is.
    pub fn check(self) -> Result<(), CliError> {
        match self {
            Self::Found => Ok(()),
            Self::Nothing => Err(CliError::Answered),
        }
    }
}

impl Sight {
    /// Looks at the graphs that are there, for a command that asks and ends.
    ///
    /// # Errors
    /// When a graph that the user asked for cannot be reached.
    pub fn open(session: &Session, which: Which, listening: &Listening) -> Result<Self, CliError> {
        let there = which.decide(session)?;
        Self::of(session, session.asking_in(there.graphs)?, &there, listening)
    }

    /// The same for a command that goes on in them until Ctrl-C, and in ROS 1 from when its master comes, if the user has not
    /// left that out.
    ///
    /// # Errors
    /// As [`Sight::open`].
    pub fn running(session: &Session, which: Which, listening: &Listening) -> Result<Self, CliError> {
        let there = which.decide(session)?;
        let context = match there.no_master_at {
            Some(_) => session.running_before_master()?,
            None => session.running_in(there.graphs)?,
        };
        Self::of(session, context, &there, listening)
    }

    fn of(
        session: &Session,
        context: Context,
        there: &There,
        listening: &Listening,
    ) -> Result<Self, CliError> {
        let ros2 = match there.graphs {
            Graphs::Ros1 => None,
            _ => Some(listening.listen(session, &context)?),
        };
        if let (Graphs::Ros2, Some(heard)) = (there.graphs, &ros2) {
            let ear = absence::Ear::of(&context, listening.least());
            absence::tell(session, there.no_master_at.as_deref(), heard, &ear);
        }
        let is_alone = ros2.as_ref().is_some_and(|heard| heard.participants.is_empty());
        let nothing = there.no_master_at.is_some() && is_alone && !listening.least().is_zero();
        let presence = if nothing { Presence::Nothing } else { Presence::Found };
        Ok(Self { context, graphs: there.graphs, ros2, presence })
    }

    /// The context by which it is seen.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The graph of ROS 1, if it is there.
    pub fn ros1(&self) -> Option<Graph<'_>> {
        (self.graphs != Graphs::Ros2).then(|| Graph::new(&self.context))
    }

    /// In whose form messages are made: that of ROS 1, if it is there.
    pub fn generation(&self) -> Generation {
        if self.graphs == Graphs::Ros2 { Generation::Ros2 } else { Generation::Ros1 }
    }

    /// The topics of both.
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
}

/// The words for the graphs that something is in.
pub fn words(ros1: bool, ros2: bool) -> &'static str {
    match (ros1, ros2) {
        (true, true) => "ROS 1, ROS 2",
        (true, false) => "ROS 1",
        (false, _) => "ROS 2",
    }
}

/// The same for programs.
pub fn keys(ros1: bool, ros2: bool) -> Vec<&'static str> {
    [(ros1, "ros1"), (ros2, "ros2")].into_iter().filter(|(there, _)| *there).map(|(_, key)| key).collect()
}

/// Whose implementation a participant is and where.
pub fn place(participant: &ParticipantInfo) -> String {
    let here = if participant.is_same_host { " (this host)" } else { "" };
    let at = participant.addresses.first().map_or(String::new(), |address| format!(" at {address}"));
    format!("{}{at}{here}", participant.vendor)
}
