//! `runnel interface proto`

use runnel::core::yaml;

use super::Only;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::interfaces::{Found, default_message, prototype};
use crate::output::lines;

/// Print a message, request or goal of a type with default values, to be edited and published
///
/// The form is that of the type's spelling: std_msgs/msg/Header is the ROS 2 type.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The type: std_msgs/String, std_srvs/srv/SetBool, or String to search all packages
    #[arg(value_name = "TYPE", add = completion::all_types())]
    type_name: String,

    /// Print double quotes around it, as ros2 does
    #[arg(long)]
    quotes: bool,

    /// Accepted as in ros2; there are no quotes by default
    #[arg(long, hide = true, conflicts_with = "quotes")]
    no_quotes: bool,

    #[command(flatten)]
    only: Only,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let found = Found::all(&cli.types()?, &args.type_name, args.only.generation())?;
    let messages = found.iter().map(default_message).collect::<Result<Vec<_>, CliError>>()?;
    let text = || {
        let part = |found: &Found| {
            let head = if args.type_name.contains('/') { "" } else { &*format!("[{}]:\n", found.spelling()) };
            let yaml = prototype(found).unwrap_or_default();
            let yaml = if args.quotes { format!("\"{yaml}\"\n") } else { yaml };
            head.to_owned() + &yaml
        };
        let parts: Vec<String> = found.iter().map(part).collect();
        lines(parts.concat().lines())
    };
    cli.output.answer(text, || messages.iter().map(yaml::to_json).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Types;

    #[test]
    fn prototype_has_the_form_of_the_spelling() {
        let types = Types::new(&[]).expect("no folder to read");
        let text = |name: &str| {
            let found = Found::all(&types, name, None).expect("known");
            prototype(&found[0]).expect("small")
        };
        assert_eq!(text("std_msgs/msg/Header"), "stamp:\n  sec: 0\n  nanosec: 0\nframe_id: ''\n");
        assert_eq!(text("std_msgs/Header"), "seq: 0\nstamp:\n  secs: 0\n  nsecs: 0\nframe_id: ''\n");
    }
}
