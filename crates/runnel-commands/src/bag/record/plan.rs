//! What the arguments of `runnel bag record` mean.

use std::path::PathBuf;

use runnel::Context;

use super::recorder::Options;
use crate::bag::files::Format;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot, Side};

/// A recording: where, what and how.
pub struct Plan {
    /// Topics, limits and times.
    pub options: Options,
    /// Name of the files without number and extension.
    pub base: PathBuf,
    /// Format of the files.
    pub format: Format,
    /// Most complete bags that are kept.
    pub max_splits: Option<usize>,
    /// Whether only errors are shown.
    pub is_quiet: bool,
    /// Whether it begins paused.
    pub is_paused: bool,
    /// The graphs.
    pub filter: GraphFilter,
    /// How long they are discovered.
    pub discovery: Discovery,
}

impl Plan {
    /// The context of the graphs to record.
    ///
    /// # Errors
    /// When a requested graph cannot be reached, or a topic cannot be recorded.
    pub fn open(&self, cli: &CliContext) -> Result<Context, CliError> {
        let snapshot = GraphSnapshot::open_running(cli, self.filter, &self.discovery)?;
        if self.options.takes_ros2 || self.filter.is_only_ros1() {
            return Ok(snapshot.context().clone());
        }
        self.check_ros1(cli, &snapshot)?;
        let filter = GraphFilter::only_ros1();
        Ok(GraphSnapshot::open_running(cli, filter, &self.discovery)?.context().clone())
    }

    /// Checks that no named topic is only in ROS 2, and notes others that will not be recorded.
    fn check_ros1(&self, cli: &CliContext, snapshot: &GraphSnapshot) -> Result<(), CliError> {
        let mut topics = snapshot.topics()?;
        let is_published = |side: &Side| !side.publishers.is_empty();
        topics.0.retain(|_, topic| {
            !topic.ros1.as_ref().is_some_and(is_published) && topic.ros2.as_ref().is_some_and(is_published)
        });
        if let Some(named) = self.options.topics.names.iter().find(|name| topics.0.contains_key(*name)) {
            return Err(super::sink::no_ros2(named));
        }
        match self.options.topics.select(&topics).len() {
            0 => {}
            count => cli.output.note(&format!(
                "topics that are only in ROS 2 are not recorded: {count}. Try: --storage mcap"
            )),
        }
        Ok(())
    }
}
