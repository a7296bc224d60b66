//! `runnel interface md5`

use runnel::core::schema::Generation;
use serde_json::json;

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::interfaces::Found;
use crate::output::lines;

/// Print the MD5 sum of a type, by which ROS 1 nodes compare definitions
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The type: std_msgs/String, std_srvs/srv/SetBool, or String to search all packages
    #[arg(value_name = "TYPE", add = completion::all_types())]
    type_name: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let found = Found::all(&cli.types()?, &args.type_name, Some(Generation::Ros1))?;
    let named = !args.type_name.contains('/');
    let line = |found: &Found| match named {
        true => format!("[{}]: {}", found.name(), found.md5()),
        false => found.md5().to_owned(),
    };
    let json = |found: &Found| json!({ "name": found.name().to_string(), "md5": found.md5() });
    cli.output.answer(|| lines(found.iter().map(line)), || found.iter().map(json).collect())
}
