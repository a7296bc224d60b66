//! `runnel param`

mod delete;
mod dump;
mod get;
mod list;
mod load;
mod set;

use clap::Subcommand;
use runnel::core::names;

use crate::error::CliError;
use crate::session::Session;

/// Read and set parameters of ROS 1 (rosparam, ros2 param)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Get(get::Args),
    Set(set::Args),
    Delete(delete::Args),
    Dump(dump::Args),
    Load(load::Args),
}

/// The name of a parameter: `/robot/speed`, or as ros2 has it a node and a parameter of that, `/robot speed`.
fn of_node(name: &str, parameter: Option<&str>) -> String {
    parameter.map_or_else(|| name.to_owned(), |parameter| names::join(name, &parameter.replace('.', "/")))
}

pub fn run(command: Command, session: &Session) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Get(args) => get::run(&args, session),
        Command::Set(args) => set::run(&args, session),
        Command::Delete(args) => delete::run(&args, session),
        Command::Dump(args) => dump::run(&args, session),
        Command::Load(args) => load::run(&args, session),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_may_be_named_before_its_parameter() {
        assert_eq!(of_node("/robot/speed", None), "/robot/speed");
        assert_eq!(of_node("/robot", Some("limits.speed")), "/robot/limits/speed");
    }
}
