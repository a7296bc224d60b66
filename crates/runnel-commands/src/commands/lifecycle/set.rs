//! `runnel lifecycle set`

use runnel::msgs::lifecycle_msgs::msg::{Transition, TransitionDescription};
use runnel::msgs::lifecycle_msgs::srv::{ChangeState, ChangeStateRequest};
use serde_json::json;

use super::query::{Query, labelled};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;

/// Make a node change its state
///
/// Exit code: 1 if the node does not make the transition.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::nodes())]
    node: String,

    /// The transition, by its name or its number: configure, activate, deactivate, cleanup, shutdown
    #[arg(add = completion::words(&["configure", "activate", "deactivate", "cleanup", "shutdown"]))]
    transition: String,

    /// Accepted as in ros2; hidden nodes are found by their names
    #[arg(long, hide = true)]
    include_hidden_nodes: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let nodes = args.query.open(cli)?;
    let node = nodes.find(cli, &args.node)?;
    let available = nodes.transitions(&node, false)?;
    let transition = chosen(&available, &args.transition).ok_or_else(|| unknown(&available))?;
    let request = ChangeStateRequest { transition };
    let success = nodes.call::<ChangeState>(&node, "change_state", &request)?.success;
    if !success && !cli.output.json {
        return Err(CliError::Failed("Transitioning failed".to_owned()));
    }
    cli.output.answer(|| "Transitioning successful".to_owned(), || json!({ "successful": success }))?;
    if success { Ok(()) } else { Err(CliError::Answered) }
}

/// The transition of this name, or else of this number.
fn chosen(available: &[TransitionDescription], typed: &str) -> Option<Transition> {
    let mut transitions = available.iter().map(|of| &of.transition);
    let named = transitions.clone().find(|transition| transition.label == typed);
    named.or_else(|| transitions.find(|transition| transition.id.to_string() == typed)).cloned()
}

fn unknown(available: &[TransitionDescription]) -> CliError {
    let line =
        |of: &TransitionDescription| format!("\n- {}", labelled(&of.transition.label, of.transition.id));
    let lines: String = available.iter().map(line).collect();
    CliError::Failed(format!("Unknown transition requested, available ones are:{lines}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available() -> Vec<TransitionDescription> {
        let of = |(id, label): (u8, &str)| TransitionDescription {
            transition: Transition { id, label: label.to_owned() },
            ..TransitionDescription::default()
        };
        [(1, "configure"), (5, "shutdown"), (9, "1")].map(of).into()
    }

    #[test]
    fn transition_has_name_or_number() {
        let id = |typed| chosen(&available(), typed).map(|transition| transition.id);
        assert_eq!((id("configure"), id("5"), id("1"), id("activate")), (Some(1), Some(5), Some(9), None));
        let expected =
            "Unknown transition requested, available ones are:\n- configure [1]\n- shutdown [5]\n- 1 [9]";
        assert_eq!(unknown(&available()).to_string(), expected);
    }
}
