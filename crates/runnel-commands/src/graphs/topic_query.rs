//! Arguments of commands that list topics.

use super::{Presence, Query, Topic, Topics, is_hidden};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Arguments of commands that list topics: graphs, discovery time, hidden topics.
#[derive(Clone, Debug, clap::Args)]
pub struct TopicQuery {
    /// Also list ROS 2 topics with a name part that begins with an underscore
    #[arg(long, alias = "include-hidden")]
    include_hidden_topics: bool,

    #[command(flatten)]
    query: Query,
}

impl TopicQuery {
    /// The topics of the available graphs, and whether any graph was found.
    ///
    /// # Errors
    /// When a requested graph cannot be reached.
    pub fn topics(&self, cli: &CliContext) -> Result<(Topics, Presence), CliError> {
        let snapshot = self.query.open(cli)?;
        let mut topics = snapshot.topics()?;
        topics.0.retain(|name, topic| self.shows(name, topic));
        Ok((topics, snapshot.presence))
    }

    fn shows(&self, name: &str, topic: &Topic) -> bool {
        self.include_hidden_topics || topic.ros1.is_some() || !is_hidden(name)
    }
}
