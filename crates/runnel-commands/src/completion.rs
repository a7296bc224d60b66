//! What can stand in an argument, for shells that ask while the user types.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::CompleteEnv;
use runnel::core::names;
use runnel::core::schema::Kind;
use runnel::{Context, ContextOptions};

use crate::commands;
use crate::error::CliError;
use crate::graph::Graph;
use crate::types::Types;

/// The variable by which a shell's script asks for completions.
pub const VARIABLE: &str = "RUNNEL_COMPLETE";

/// How long the master may take: somebody waits at the keyboard.
const PATIENCE: Duration = Duration::from_millis(300);

/// The completion that a shell asks for in the environment.
pub fn environment() -> CompleteEnv<'static, fn() -> clap::Command> {
    let factory: fn() -> clap::Command = commands::command;
    CompleteEnv::with_factory(factory).var(VARIABLE)
}

/// Completes the names of topics.
pub fn topics() -> ArgValueCompleter {
    live(|graph| Ok(owned(graph.system_state()?.topics())))
}

/// Completes the names of nodes.
pub fn nodes() -> ArgValueCompleter {
    live(|graph| Ok(owned(graph.system_state()?.nodes())))
}

/// Completes the names of services.
pub fn services() -> ArgValueCompleter {
    live(|graph| Ok(graph.system_state()?.services.into_keys().collect()))
}

/// Completes the names of actions.
pub fn actions() -> ArgValueCompleter {
    live(|graph| Ok(commands::actions(graph)?.into_keys().collect()))
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
        let line: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let known = || {
            let context = Context::with_options(asking()).ok()?;
            let types = Graph::within(&context, PATIENCE).topic_types().ok()?;
            let mut topics = topics_in(&line).map(|word| names::join("/", word));
            topics.find_map(|topic| types.get(&topic).filter(|name| *name != "*").cloned())
        };
        match known() {
            Some(type_name) => candidates(current, BTreeSet::from([type_name])),
            None => candidates(current, type_names(&[Kind::Message])),
        }
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
    ArgValueCompleter::new(move |current: &OsStr| candidates(current, type_names(kinds)))
}

fn type_names(kinds: &[Kind]) -> BTreeSet<String> {
    let Ok(types) = Types::new(&[]) else { return BTreeSet::new() };
    kinds.iter().flat_map(|kind| types.names(*kind)).map(ToString::to_string).collect()
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
    names.into_iter().filter(|name| name.starts_with(&*current)).map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
