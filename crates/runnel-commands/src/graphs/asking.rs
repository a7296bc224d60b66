//! What commands take that list topics: which graphs, for how long, and what is left out.

use super::{Listening, Presence, Sight, Topic, Topics, Which, is_hidden};
use crate::error::CliError;
use crate::session::Session;

/// Which topics a command lists.
#[derive(Clone, Debug, clap::Args)]
pub struct Asking {
    /// Also ROS 2 topics with a part that begins with an underscore
    #[arg(long, alias = "include-hidden")]
    include_hidden_topics: bool,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    listening: Listening,
}

impl Asking {
    /// The topics of the graphs that are there, and whether there is a graph at all.
    ///
    /// # Errors
    /// When a graph that the user asked for cannot be reached.
    pub fn topics(&self, session: &Session) -> Result<(Topics, Presence), CliError> {
        let sight = Sight::open(session, self.which, &self.listening)?;
        let mut topics = sight.topics()?;
        topics.0.retain(|name, topic| self.shows(name, topic));
        Ok((topics, sight.presence))
    }

    fn shows(&self, name: &str, topic: &Topic) -> bool {
        self.include_hidden_topics || topic.ros1.is_some() || !is_hidden(name)
    }
}
