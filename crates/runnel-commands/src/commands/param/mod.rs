//! `runnel param`

mod delete;
mod dump;
mod get;
mod list;
mod load;
mod set;

use clap::Subcommand;
use runnel::core::names;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Read and set ROS 1 parameters (rosparam, ros2 param)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Get(get::Args),
    Set(set::Args),
    Delete(delete::Args),
    Dump(dump::Args),
    Load(load::Args),
}

/// The name of a parameter: `/robot/speed`, or as in ros2 param a node and its parameter, `/robot speed`.
fn of_node(name: &str, parameter: Option<&str>) -> String {
    parameter.map_or_else(|| name.to_owned(), |parameter| names::join(name, &parameter.replace('.', "/")))
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, cli),
        Command::Get(args) => get::run(&args, cli),
        Command::Set(args) => set::run(&args, cli),
        Command::Delete(args) => delete::run(&args, cli),
        Command::Dump(args) => dump::run(&args, cli),
        Command::Load(args) => load::run(&args, cli),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_may_stand_before_its_parameter() {
        assert_eq!(of_node("/robot/speed", None), "/robot/speed");
        assert_eq!(of_node("/robot", Some("limits.speed")), "/robot/limits/speed");
    }
}
