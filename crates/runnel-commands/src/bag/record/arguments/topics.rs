//! Arguments that select what is recorded.

use std::collections::BTreeSet;
use std::path::PathBuf;

use regex_lite::Regex;
use runnel::core::schema::TypeName;

use super::TOPICS;
use crate::bag::action_topics::topics_of;
use crate::bag::quantity;
use crate::bag::record::topic_selection::TopicSelection;
use crate::bag::service_topics::event_topic;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;

/// What is recorded.
#[derive(Debug, Default, clap::Args)]
pub struct TopicArgs {
    /// Topics to record
    #[arg(value_name = "TOPIC", add = completion::topics())]
    pub topics: Vec<String>,

    // The same, as ros2 bag has it.
    #[arg(long = "topics", value_name = "TOPIC", num_args = 1.., hide = true, add = completion::topics())]
    pub more_topics: Vec<String>,

    /// Record all topics
    #[arg(short, long, alias = "all-topics", help_heading = TOPICS)]
    pub all: bool,

    /// Record topics that match this regular expression (may be repeated)
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = quantity::regex, help_heading = TOPICS)]
    pub regex: Vec<Regex>,

    /// Record topics of these types
    #[arg(long, value_name = "TYPE", num_args = 1.., value_parser = message_type, help_heading = TOPICS)]
    pub topic_types: Vec<TypeName>,

    /// Record the topics to which this node subscribes
    #[arg(long, value_name = "NODE", add = completion::nodes(), help_heading = TOPICS)]
    pub node: Option<String>,

    /// Record the calls of these ROS 2 services, whose servers or clients must have introspection enabled
    #[arg(long, value_name = "SERVICE", num_args = 1.., help_heading = TOPICS)]
    pub services: Vec<String>,

    /// Record the calls of all ROS 2 services that have introspection enabled
    #[arg(long, help_heading = TOPICS)]
    pub all_services: bool,

    /// Record these ROS 2 actions: feedback, status, and the calls of their services if introspection is enabled
    #[arg(long, value_name = "ACTION", num_args = 1.., add = completion::actions(), help_heading = TOPICS)]
    pub actions: Vec<String>,

    /// Record all ROS 2 actions
    #[arg(long, help_heading = TOPICS)]
    pub all_actions: bool,

    /// Leave out topics that match this regular expression (may be repeated)
    #[arg(short = 'x', long, alias = "exclude-regex", value_name = "REGEX", value_parser = quantity::regex, help_heading = TOPICS)]
    pub exclude: Vec<Regex>,

    /// Leave out these topics
    #[arg(long, value_name = "TOPIC", num_args = 1.., help_heading = TOPICS)]
    pub exclude_topics: Vec<String>,

    /// Leave out topics of these types
    #[arg(long, value_name = "TYPE", num_args = 1.., value_parser = message_type, help_heading = TOPICS)]
    pub exclude_topic_types: Vec<TypeName>,

    /// Leave out the calls of these services
    #[arg(long, value_name = "SERVICE", num_args = 1.., help_heading = TOPICS)]
    pub exclude_services: Vec<String>,

    /// Leave out these actions
    #[arg(long, value_name = "ACTION", num_args = 1.., help_heading = TOPICS)]
    pub exclude_actions: Vec<String>,

    /// With --all or --regex: also ROS 2 topics with a name part that begins with an underscore
    #[arg(long, help_heading = TOPICS)]
    pub include_hidden_topics: bool,

    /// With --all or a pattern: also topics that have subscribers but no publisher yet
    #[arg(long, help_heading = TOPICS)]
    pub include_unpublished_topics: bool,

    /// With --all or a pattern: without topics that have no subscriber
    #[arg(long, help_heading = TOPICS)]
    pub ignore_leaf_topics: bool,

    /// Record the topics in this YAML file, with the types in it, as in ros2
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = TOPICS)]
    pub static_topics_path: Option<PathBuf>,

    /// Do not record topics that appear later
    #[arg(long, help_heading = TOPICS)]
    pub no_discovery: bool,

    /// Subscribe to topics with the QoS in this YAML file, as in ros2, instead of the best that is offered
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = TOPICS)]
    pub qos_profile_overrides_path: Option<PathBuf>,
}

impl TopicArgs {
    /// The topics to record, and these.
    ///
    /// # Errors
    /// When there are none, they contradict each other, or a name is not valid.
    pub fn selection<'a>(
        &self,
        cli: &CliContext,
        static_topics: impl Iterator<Item = &'a String>,
    ) -> Result<TopicSelection, CliError> {
        let mut named = names(cli, &[&self.topics, &self.more_topics], &self.services, &self.actions)?;
        named.extend(static_topics.cloned());
        let selection = TopicSelection {
            names: named,
            all: self.all,
            all_services: self.all_services,
            all_actions: self.all_actions,
            regexes: self.regex.clone(),
            types: self.topic_types.clone(),
            node: self.node.as_ref().map(|node| cli.resolve(node)).transpose()?,
            excluded: self.exclude.clone(),
            excluded_names: names(
                cli,
                &[&self.exclude_topics],
                &self.exclude_services,
                &self.exclude_actions,
            )?,
            excluded_types: self.exclude_topic_types.clone(),
            hidden: self.include_hidden_topics,
            unpublished: self.include_unpublished_topics,
            without_leaves: self.ignore_leaf_topics,
        };
        if selection.names.is_empty() && !selection.discovers() {
            return Err(CliError::Usage("nothing to record. Try: topics, --all, --regex or --node".into()));
        }
        if let Some(excluded) = selection.names.iter().find(|name| selection.excludes(name)) {
            return Err(CliError::Usage(format!("topic {excluded} is named, and excluded by --exclude")));
        }
        Ok(selection)
    }
}

/// The absolute names of topics, and of those of services and actions.
fn names(
    cli: &CliContext,
    topics: &[&[String]],
    services: &[String],
    actions: &[String],
) -> Result<BTreeSet<String>, CliError> {
    let mut names = BTreeSet::new();
    for topic in topics.iter().copied().flatten() {
        names.insert(cli.resolve(topic)?);
    }
    for service in services {
        names.insert(event_topic(&cli.resolve(service)?));
    }
    for action in actions {
        names.extend(topics_of(&cli.resolve(action)?));
    }
    Ok(names)
}

/// A message type.
///
/// # Errors
/// When it is no name of a type.
pub fn message_type(text: &str) -> Result<TypeName, String> {
    TypeName::parse(text).ok_or_else(|| "expected a type, such as std_msgs/msg/String".to_owned())
}
