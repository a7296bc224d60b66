//! What can stand in an argument, for shells that ask while the user types.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use runnel::core::names;
use runnel::core::schema::{Generation, Kind, TypeName};
use runnel::{Context, ContextOptions, Graphs, Ros2Graph};

use crate::actions::actions as actions_of;
use crate::error::CliError;
use crate::graph::{Graph, SystemState};
use crate::graphs::{Listening, Topics, is_hidden};
use crate::types::{Types, spelt};

/// How long the master may take, and then those of ROS 2 to tell what they have: somebody waits at the keyboard.
const PATIENCE: Duration = Duration::from_millis(300);

/// Completes the names of topics of both generations.
pub fn topics() -> ArgValueCompleter {
    in_both(|sight| sight.topics().0.into_keys().filter(|name| !is_hidden(name)).collect())
}

/// Completes these names, and those of files.
#[cfg(feature = "demo")]
pub fn names_or_files(
    names: impl Iterator<Item = &'static str> + Clone + Send + Sync + 'static,
) -> ArgValueCompleter {
    use clap_complete::engine::{PathCompleter, ValueCompleter};
    ArgValueCompleter::new(move |current: &OsStr| {
        let named = candidates(current, names.clone().map(str::to_owned).collect());
        named.into_iter().chain(PathCompleter::file().complete(current)).collect::<Vec<_>>()
    })
}

/// Completes the names of nodes of both generations.
pub fn nodes() -> ArgValueCompleter {
    in_both(|sight| {
        let of_ros1 = owned(sight.state.nodes());
        let of_ros2 = sight.ros2.nodes.iter().map(|node| node.full_name.clone());
        of_ros1.into_iter().chain(of_ros2).filter(|name| !is_hidden(name)).collect()
    })
}

/// Completes the names of nodes of ROS 1.
pub fn ros1_nodes() -> ArgValueCompleter {
    live(|graph| Ok(owned(graph.system_state()?.nodes())))
}

/// Completes the names of services.
pub fn services() -> ArgValueCompleter {
    live(|graph| Ok(graph.system_state()?.services.into_keys().collect()))
}

/// Completes the names of actions.
pub fn actions() -> ArgValueCompleter {
    live(|graph| Ok(actions_of(graph)?.into_keys().collect()))
}

/// Completes the names of parameters.
pub fn parameters() -> ArgValueCompleter {
    live(|graph| Ok(graph.param_names()?.into_iter().collect()))
}

/// Completes the names of service types.
pub fn service_types() -> ArgValueCompleter {
    types(&[Kind::Service])
}

/// Completes the names of action types.
pub fn action_types() -> ArgValueCompleter {
    types(&[Kind::Action])
}

/// Completes the names of message types.
pub fn message_types() -> ArgValueCompleter {
    types(&[Kind::Message])
}

/// Completes the type of the topic that stands before it, if somebody publishes or subscribes to that, and otherwise
/// the names of message types.
pub fn topics_type() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let line = line();
        let known = || {
            let topics = Seen::of(&line)?.topics();
            let mut typed = topics_in(&line).map(|word| names::join("/", word));
            typed.find_map(|name| Some(topics.0.get(&name)?.types().into_iter().map(str::to_owned).collect()))
        };
        let known: BTreeSet<String> = known().unwrap_or_default();
        // As it is spelt in the graph, or else as the user has begun to.
        let short = known.iter().filter_map(|name| TypeName::parse(name)).map(|name| name.to_string());
        let short: BTreeSet<String> = short.collect();
        let offers = [known, short, type_names(&[Kind::Message], current)];
        let offers = offers.into_iter().map(|names| candidates(current, names));
        offers.into_iter().find(|names| !names.is_empty()).unwrap_or_default()
    })
}

/// What the shell has so far of the line, behind a `--`.
fn line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What there is in the graphs that a line is about.
struct Seen {
    state: SystemState,
    types: BTreeMap<String, String>,
    ros2: Ros2Graph,
}

impl Seen {
    /// Looks at both graphs, unless the line narrows that. What does not answer in time is left out.
    fn of(line: &[String]) -> Option<Self> {
        let typed = |option: &str| line.iter().any(|word| word == option);
        let context = Context::with_options(asking().graphs(Graphs::Both)).ok()?;
        let mut seen =
            Self { state: SystemState::default(), types: BTreeMap::new(), ros2: Ros2Graph::default() };
        if !typed("--ros1") {
            // Those of ROS 2 have the time to answer that the master takes.
            context.ros2_graph().ok()?;
        }
        if !typed("--ros2") {
            let graph = Graph::within(&context, PATIENCE);
            seen.state = graph.system_state().unwrap_or_default();
            seen.types = graph.topic_types().unwrap_or_default();
        }
        if !typed("--ros1") {
            seen.ros2 = Listening::default().look(&context, PATIENCE).unwrap_or_default();
        }
        Some(seen)
    }

    fn topics(&self) -> Topics {
        let mut topics = Topics::default();
        topics.add_ros1(&self.state, &self.types);
        topics.add_ros2(&self.ros2);
        topics
    }
}

/// Completes what both graphs know.
fn in_both(names: impl Fn(&Seen) -> BTreeSet<String> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let seen = Seen::of(&line());
        candidates(current, seen.map(|seen| names(&seen)).unwrap_or_default())
    })
}

/// What may be the topic in the line that a shell has so far: words behind `pub` that are no options. The line stands
/// behind `--`.
fn topics_in(line: &[String]) -> impl Iterator<Item = &str> {
    let typed = line.iter().skip_while(|word| *word != "--").skip_while(|word| *word != "pub").skip(1);
    typed.map(String::as_str).filter(|word| !word.is_empty() && !word.starts_with('-'))
}

/// Completes the names of types of every kind.
pub fn all_types() -> ArgValueCompleter {
    types(&Kind::ALL)
}

fn types(kinds: &'static [Kind]) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| candidates(current, type_names(kinds, current)))
}

/// The names of types that go on as the user has begun: as in ROS 1, and where none does, as in ROS 2.
fn type_names(kinds: &[Kind], current: &OsStr) -> BTreeSet<String> {
    let Ok(types) = Types::new(&[]) else { return BTreeSet::new() };
    let names = |generation| -> BTreeSet<String> {
        let spelt = |kind: &Kind| -> Vec<String> {
            types.names_in(generation, *kind).map(|name| spelt(generation, *kind, name)).collect()
        };
        let names = kinds.iter().flat_map(spelt);
        names.filter(|name| name.starts_with(&*current.to_string_lossy())).collect()
    };
    let of_ros1 = names(Generation::Ros1);
    if of_ros1.is_empty() { names(Generation::Ros2) } else { of_ros1 }
}

/// Completes the names of packages with types.
pub fn packages() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let Ok(types) = Types::new(&[]) else { return Vec::new() };
        let names = Kind::ALL.into_iter().flat_map(|kind| types.every_name(kind));
        candidates(current, names.map(|name| name.package.clone()).collect())
    })
}

/// What a context takes that asks while somebody types.
fn asking() -> ContextOptions {
    ContextOptions::default().arguments([""; 0]).signals(false).rosout(false).sim_time(false)
}

/// Completes what the graph knows; nothing where it cannot be asked.
fn live(
    names: impl Fn(&Graph<'_>) -> Result<BTreeSet<String>, CliError> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let Ok(context) = Context::with_options(asking()) else { return Vec::new() };
        candidates(current, names(&Graph::within(&context, PATIENCE)).unwrap_or_default())
    })
}

fn owned(names: BTreeSet<&str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn candidates(current: &OsStr, names: BTreeSet<String>) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let names = names.into_iter().filter(|name| is_plain(name) && name.starts_with(&*current));
    names.map(CompletionCandidate::new).collect()
}

/// Whether a name is of the letters that names have in either generation. Anybody in a graph can tell others, which the shell
/// would put into the line as they are.
fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_obey_is_not_offered() {
        let told =
            ["/scan", "/scan;touch x;#", "/s$(x)", "/s x", "/s\u{1b}[31m", "/s\nx", "/s`x`", "/été", "-x"];
        let told = told.into_iter().map(str::to_owned).collect();
        let offered = candidates(OsStr::new(""), told);
        assert_eq!(offered.iter().map(CompletionCandidate::get_value).collect::<Vec<_>>(), ["/scan"]);
    }

    #[test]
    fn the_topic_is_a_word_behind_pub_that_is_no_option() {
        let topics = |line: &str| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            topics_in(&line).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(topics("runnel -- runnel topic pub -r 10 /chatter "), "10 /chatter");
        assert_eq!(topics("runnel -- runnel topic pub"), "");
        assert_eq!(topics("runnel topic pub /chatter"), "");
    }
}
