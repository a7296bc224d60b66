//! Completions of arguments, for shells.

mod parameters;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use runnel::core::names;
use runnel::core::schema::{Generation, Kind, TypeName};
use runnel::{Context, ContextOptions, Graphs, Ros2Graph};

use crate::actions::{action_of, within};
use crate::error::CliError;
use crate::graph::{Graph, SystemState};
use crate::graphs::{Discovery, Topics, is_hidden};
use crate::types::{Types, spelt};

pub use parameters::{
    node_and_its_parameters, nodes_and_parameters, nodes_or_files, parameters_of_node, parameters_or_files,
    ros1_parameters,
};

/// How long the master may take, and then ROS 2 discovery: a person waits at the keyboard.
const QUERY_TIMEOUT: Duration = Duration::from_millis(300);

/// Completes topic names of both generations.
pub fn topics() -> ArgValueCompleter {
    in_both(|snapshot| snapshot.topics().0.into_keys().filter(|name| !is_hidden(name)).collect())
}

/// Completes these names, and files.
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

/// Completes these words.
pub fn words(words: &'static [&'static str]) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        candidates(current, words.iter().map(|word| (*word).to_owned()).collect())
    })
}

/// Completes node names of both generations.
pub fn nodes() -> ArgValueCompleter {
    in_both(|snapshot| {
        let ros1 = owned(snapshot.state.nodes());
        let ros2 = snapshot.ros2.nodes.iter().map(|node| node.full_name.clone());
        ros1.into_iter().chain(ros2).filter(|name| !is_hidden(name)).collect()
    })
}

/// Completes names of ROS 1 nodes.
pub fn ros1_nodes() -> ArgValueCompleter {
    live(|graph| Ok(owned(graph.system_state()?.nodes())))
}

/// Completes service names of both generations.
pub fn services() -> ArgValueCompleter {
    in_both(|data| {
        let ros1 = data.state.services.keys().cloned();
        let ros2 = data.ros2.service_names_and_types().into_keys().filter(|name| !is_hidden(name));
        ros1.chain(ros2).collect()
    })
}

/// Completes action names of both generations.
pub fn actions() -> ArgValueCompleter {
    in_both(|data| {
        let ros1 = within(&data.state, &data.types).into_keys();
        let ros2 = data.ros2.endpoints.iter().filter_map(action_of).map(str::to_owned);
        ros1.chain(ros2).collect()
    })
}

/// Completes the type of the service before it, if that service exists, and otherwise service types; nothing behind a
/// type.
pub fn services_type() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let line = line();
        let before: Vec<&str> = words_after(before_cursor(&line), "call").collect();
        if before.iter().any(|word| !word.starts_with('/') && TypeName::parse(word).is_some()) {
            return Vec::new();
        }
        let known = || {
            let services = GraphData::of(&line)?.ros2.service_names_and_types();
            let mut named = before.iter().map(|word| names::join("/", word));
            named.find_map(|name| services.get(&name).cloned())
        };
        let names = known().unwrap_or_else(|| type_names(&[Kind::Service], current));
        candidates(current, names)
    })
}

/// Completes service types.
pub fn service_types() -> ArgValueCompleter {
    types(&[Kind::Service])
}

/// Completes action types.
pub fn action_types() -> ArgValueCompleter {
    types(&[Kind::Action])
}

/// Completes message types.
pub fn message_types() -> ArgValueCompleter {
    types(&[Kind::Message])
}

/// Completes the type of the topic before it, if that topic exists, and otherwise message types.
pub fn topics_type() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let line = line();
        let known = || {
            let topics = GraphData::of(&line)?.topics();
            let mut typed = words_after(&line, "pub").map(|word| names::join("/", word));
            typed.find_map(|name| Some(topics.0.get(&name)?.types().into_iter().map(str::to_owned).collect()))
        };
        let known: BTreeSet<String> = known().unwrap_or_default();
        // First the spelling of the graph, then the short one, then what the user has begun.
        let short = known.iter().filter_map(|name| TypeName::parse(name)).map(|name| name.to_string());
        let short: BTreeSet<String> = short.collect();
        let offers = [known, short, type_names(&[Kind::Message], current)];
        let offers = offers.into_iter().map(|names| candidates(current, names));
        offers.into_iter().find(|names| !names.is_empty()).unwrap_or_default()
    })
}

/// The shell's line up to the cursor, after a `--`.
fn line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Whether a line calls the program ros2, which is only in ROS 2.
fn is_of_ros2(line: &[String]) -> bool {
    let program = line.iter().skip_while(|word| *word != "--").nth(1);
    program.is_some_and(|program| program.rsplit('/').next() == Some("ros2"))
}

/// Whether a line is about only this graph.
fn is_only_in(line: &[String], graph: Graphs) -> bool {
    let typed = |option: &str| line.iter().any(|word| word == option);
    match graph {
        Graphs::Ros1 => typed("--ros1"),
        Graphs::Ros2 => typed("--ros2") || is_of_ros2(line),
        Graphs::Both => false,
    }
}

/// The data of the graphs that a line is about.
struct GraphData {
    state: SystemState,
    types: BTreeMap<String, String>,
    ros2: Ros2Graph,
}

impl GraphData {
    /// Queries both graphs, unless the line names one. Graphs that do not answer in time are left out.
    fn of(line: &[String]) -> Option<Self> {
        let context = Context::with_options(context_options().graphs(Graphs::Both)).ok()?;
        let mut data =
            Self { state: SystemState::default(), types: BTreeMap::new(), ros2: Ros2Graph::default() };
        let [only_ros1, only_ros2] = [Graphs::Ros1, Graphs::Ros2].map(|graph| is_only_in(line, graph));
        if !only_ros1 {
            // Opens the participant, so that ROS 2 nodes can announce themselves while the master answers.
            context.ros2_graph().ok()?;
        }
        if !only_ros2 {
            let graph = Graph::within(&context, QUERY_TIMEOUT);
            data.state = graph.system_state().unwrap_or_default();
            data.types = graph.topic_types().unwrap_or_default();
        }
        if !only_ros1 {
            data.ros2 = Discovery::default().discover_within(&context, QUERY_TIMEOUT).unwrap_or_default();
        }
        Some(data)
    }

    fn topics(&self) -> Topics {
        let mut topics = Topics::default();
        topics.add_ros1(&self.state, &self.types);
        topics.add_ros2(&self.ros2);
        topics
    }
}

/// Completes names from both graphs.
fn in_both(names: impl Fn(&GraphData) -> BTreeSet<String> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let data = GraphData::of(&line());
        candidates(current, data.map(|data| names(&data)).unwrap_or_default())
    })
}

/// The words of a shell's line before the one that is completed.
fn before_cursor(line: &[String]) -> &[String] {
    line.split_last().map_or(&[], |(_, before)| before)
}

/// Possible names in a shell's line: words after a command that are no options. The line stands after `--`.
fn words_after<'a>(line: &'a [String], command: &'a str) -> impl Iterator<Item = &'a str> {
    let typed = line.iter().skip_while(|word| *word != "--").skip_while(move |word| *word != command).skip(1);
    typed.map(String::as_str).filter(|word| !word.is_empty() && !word.starts_with('-'))
}

/// Completes types of every kind.
pub fn all_types() -> ArgValueCompleter {
    types(&Kind::ALL)
}

fn types(kinds: &'static [Kind]) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| candidates(current, type_names(kinds, current)))
}

/// The types that begin with the current text: spelt as in ROS 1, or if none matches or the program is ros2, as in ROS 2.
fn type_names(kinds: &[Kind], current: &OsStr) -> BTreeSet<String> {
    let Ok(types) = Types::new(&[]) else { return BTreeSet::new() };
    let names = |generation| -> BTreeSet<String> {
        let spelt = |kind: &Kind| -> Vec<String> {
            types.names_in(generation, *kind).map(|name| spelt(generation, *kind, name)).collect()
        };
        let names = kinds.iter().flat_map(spelt);
        names.filter(|name| name.starts_with(&*current.to_string_lossy())).collect()
    };
    let ros1 = if is_of_ros2(&line()) { BTreeSet::new() } else { names(Generation::Ros1) };
    if ros1.is_empty() { names(Generation::Ros2) } else { ros1 }
}

/// Completes packages that have types.
pub fn packages() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let Ok(types) = Types::new(&[]) else { return Vec::new() };
        let names = Kind::ALL.into_iter().flat_map(|kind| types.every_name(kind));
        candidates(current, names.map(|name| name.package.clone()).collect())
    })
}

/// The options of a context for completion.
fn context_options() -> ContextOptions {
    ContextOptions::default().arguments([""; 0]).signals(false).rosout(false).sim_time(false)
}

/// Completes names from the ROS 1 graph; nothing if the master does not answer.
fn live(
    names: impl Fn(&Graph<'_>) -> Result<BTreeSet<String>, CliError> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let Ok(context) = Context::with_options(context_options()) else { return Vec::new() };
        candidates(current, names(&Graph::within(&context, QUERY_TIMEOUT)).unwrap_or_default())
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

/// Whether a name has only the letters of valid names. Any peer can announce other names, and the shell would insert
/// them unescaped.
fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '/' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_names_are_not_completed() {
        let names =
            ["/scan", "/scan;touch x;#", "/s$(x)", "/s x", "/s\u{1b}[31m", "/s\nx", "/s`x`", "/été", "-x"];
        let names = names.into_iter().map(str::to_owned).collect();
        let offered = candidates(OsStr::new(""), names);
        assert_eq!(offered.iter().map(CompletionCandidate::get_value).collect::<Vec<_>>(), ["/scan"]);
    }

    #[test]
    fn program_of_a_line_stands_after_two_hyphens() {
        let is_of_ros2 = |line: &str| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            is_of_ros2(&line)
        };
        assert!(is_of_ros2("runnel -- ros2 topic") && is_of_ros2("runnel -- /bin/ros2 topic"));
        assert!(!is_of_ros2("runnel -- runnel ros2 topic") && !is_of_ros2("ros2 topic"));
    }

    #[test]
    fn topic_is_an_argument_after_pub() {
        let topics = |line: &str| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            words_after(&line, "pub").collect::<Vec<_>>().join(" ")
        };
        assert_eq!(topics("runnel -- runnel topic pub -r 10 /chatter "), "10 /chatter");
        assert_eq!(topics("runnel -- runnel topic pub"), "");
        assert_eq!(topics("runnel topic pub /chatter"), "");
    }
}
