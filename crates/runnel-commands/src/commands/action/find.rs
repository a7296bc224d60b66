//! `runnel action find`

use runnel::core::schema::TypeName;
use serde_json::json;

use crate::actions::Actions;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Query;
use crate::output::lines;
use crate::types::type_name;

/// List the actions of a type
///
/// Exit code: 1 if neither a master nor a ROS 2 participant is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action type, such as actionlib/TwoInts or actionlib/action/TwoInts
    #[arg(value_name = "TYPE", add = completion::action_types())]
    type_name: String,

    /// Only print how many there are
    #[arg(short, long)]
    count_actions: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let wanted = type_name(&args.type_name)?;
    let snapshot = args.query.open(cli)?;
    let mut actions = Actions::of(&snapshot)?.0;
    actions.retain(|_, action| {
        action.types().into_iter().any(|name| TypeName::parse(name).as_ref() == Some(&wanted))
    });
    if args.count_actions {
        cli.output.answer(|| actions.len().to_string(), || json!(actions.len()))?;
    } else {
        cli.output.answer(|| lines(actions.keys()), || actions.keys().map(String::as_str).collect())?;
    }
    snapshot.presence.check()
}
