//! What the arguments of `runnel bag record` mean.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use runnel::core::schema::Generation;
use runnel::{Context, Graphs};
use runnel_bag::mcap::Profile;

use super::output::Destination;
use crate::bag::record::events::LossPeriod;
use crate::bag::record::output::{OutputFiles, OutputFolder, Retention};
use crate::bag::record::recorder::Options;
use crate::bag::record::sink::{Bags, not_held};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot, Side, Topic};

/// A recording: where, what and how.
pub struct Plan {
    /// Topics, limits and times.
    pub options: Options,
    /// Where it is written.
    pub destination: Destination,
    /// Texts for the metadata.
    pub custom_data: BTreeMap<String, String>,
    /// The folder of the bag, if it is created.
    pub output_dir: Option<PathBuf>,
    /// Which complete bags are kept.
    pub retention: Retention,
    /// The topic whose messages request snapshots.
    pub snapshot_topic: Option<String>,
    /// Name of the node, if the user chooses it.
    pub node_name: Option<String>,
    /// How often losses are published.
    pub loss_period: LossPeriod,
    /// Whether the names of bags are published in ROS 1.
    pub announces_files: bool,
    /// Whether only errors are shown.
    pub is_quiet: bool,
    /// Whether it begins paused.
    pub is_paused: bool,
    /// Whether keys are read.
    pub reads_keys: bool,
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
        let filter = match self.destination.only() {
            Some(Generation::Ros1) if !self.filter.is_only_ros1() => GraphFilter::only_ros1(),
            Some(Generation::Ros2) if snapshot.context().graphs() != Graphs::Ros2 => GraphFilter::only_ros2(),
            _ => return Ok(snapshot.context().clone()),
        };
        self.check_topics(cli, &snapshot)?;
        Ok(GraphSnapshot::open_running(cli, filter, &self.discovery)?.context().clone())
    }

    /// The bags of the recording, of these graphs.
    ///
    /// # Errors
    /// When their folder cannot be created.
    pub fn bags(&self, graphs: Graphs) -> Result<Box<dyn Bags>, CliError> {
        if let Some(folder) = &self.output_dir {
            let failed = |error| CliError::Failed(format!("folder {}: {error}", folder.display()));
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let custom_data = self.custom_data.clone();
        let profile = match graphs {
            Graphs::Ros1 => Profile::Ros1,
            Graphs::Ros2 => Profile::Ros2,
            Graphs::Both => Profile::None,
        };
        Ok(match &self.destination {
            Destination::Files(base, format) => {
                let files = OutputFiles::new(base.clone(), *format, profile);
                let files = files.keeping(self.retention).with_custom_data(custom_data);
                let sink = &self.options.sink;
                let is_numbered = sink.limits.split || sink.memory.is_some();
                Box::new(if is_numbered { files.numbered() } else { files })
            }
            Destination::Folder(path, compression) => {
                let folder = OutputFolder::new(path.clone(), *compression, self.retention);
                Box::new(folder.with_custom_data(custom_data))
            }
        })
    }

    /// Checks that no named topic is only in the graph that is not recorded, and notes others that will not be.
    fn check_topics(&self, cli: &CliContext, snapshot: &GraphSnapshot) -> Result<(), CliError> {
        let is_published =
            |side: &Option<Side>| side.as_ref().is_some_and(|side| !side.publishers.is_empty());
        let only = self.destination.only();
        let is_other = |topic: &Topic| match only {
            Some(Generation::Ros1) => !is_published(&topic.ros1) && is_published(&topic.ros2),
            Some(Generation::Ros2) => !is_published(&topic.ros2) && is_published(&topic.ros1),
            None => false,
        };
        let (other, name) = match only {
            Some(Generation::Ros2) => (Generation::Ros1, "ROS 1"),
            _ => (Generation::Ros2, "ROS 2"),
        };
        let mut topics = snapshot.topics()?;
        topics.0.retain(|_, topic| is_other(topic));
        if let Some(named) = self.options.topics.names.iter().find(|name| topics.0.contains_key(*name)) {
            return Err(not_held(named, other));
        }
        match self.options.topics.select(&topics).len() {
            0 => {}
            count => cli.output.note(&format!(
                "topics that are only in {name} are not recorded: {count}. Try: --storage mcap"
            )),
        }
        Ok(())
    }
}
