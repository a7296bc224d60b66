//! `roscore` and `rosmaster`

use clap::{CommandFactory, Parser};
use runnel::io::lookup::is_loopback;

use super::Failure;
use crate::master::{self, MasterSettings};
use crate::session::Session;

/// What the help of both programs says in full.
const SERVES: &str = "It serves this computer alone, unless ROS_MASTER_URI, ROS_IP or ROS_HOSTNAME names another \
                      address than that of loopback: then it serves all that reach this computer.";

const ABOUT_ROSCORE: &str = "Run the ROS master and parameter server, as the roscore of ROS 1 does";
const ABOUT_ROSMASTER: &str = "Run the ROS master and parameter server alone, as the rosmaster of ROS 1 does: what \
                               nodes log is not gathered";

#[derive(Debug, Parser)]
pub struct Args {
    /// The port to listen on [default: that of ROS_MASTER_URI, or 11311]
    #[arg(short, long)]
    port: Option<u16>,

    /// Taken for scripts; changes nothing
    #[arg(long)]
    core: bool,

    /// Log more
    #[arg(short)]
    verbose: bool,

    /// How many threads answer: one always does
    #[arg(short = 'w', long, value_name = "COUNT")]
    numworkers: Option<u32>,

    /// How long a node may take over an answer, in seconds: the master here waits for none
    #[arg(short, long, value_name = "SECONDS")]
    timeout: Option<f64>,

    /// The least level of what the master logs
    #[arg(long, value_name = "LEVEL")]
    master_logger_level: Option<String>,
}

impl Args {
    /// The parser of the one program or the other.
    pub fn command_of(logs: Logs) -> clap::Command {
        let (name, about) = match logs {
            Logs::Gathered => ("roscore", ABOUT_ROSCORE),
            Logs::Left => ("rosmaster", ABOUT_ROSMASTER),
        };
        Self::command().name(name).about(about).long_about(format!("{about}\n\n{SERVES}"))
    }
}

/// The variables that say under which address others reach this computer.
const ADDRESSES: [&str; 2] = ["ROS_HOSTNAME", "ROS_IP"];

/// Where the master listens for nodes of other hosts.
const EVERY_INTERFACE: &str = "0.0.0.0";

/// What becomes of what nodes log: the original rosmaster leaves it to another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logs {
    Gathered,
    Left,
}

pub fn run(args: &Args, session: &Session, logs: Logs) -> Result<(), Failure> {
    if args.verbose {
        log::set_max_level(log::LevelFilter::Info);
    }
    let own = ADDRESSES.iter().filter_map(|name| std::env::var(name).ok());
    let master = session.master_uri()?.endpoint.host;
    Ok(master::run(&settings(args.port, logs, own.chain([master])), session)?)
}

/// The master that is meant, by the hosts that the environment names.
fn settings(port: Option<u16>, logs: Logs, hosts: impl IntoIterator<Item = String>) -> MasterSettings {
    // An empty variable is one that is not set.
    let for_others = hosts.into_iter().any(|host| !host.is_empty() && !is_loopback(&host));
    let host = if for_others { EVERY_INTERFACE } else { master::THIS_HOST }.to_owned();
    MasterSettings { port, host, persist: None, gathers_logs: logs == Logs::Gathered }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_master_serves_others_where_the_environment_names_an_address_for_them() {
        let host =
            |hosts: &[&str]| settings(None, Logs::Gathered, hosts.iter().map(|host| (*host).to_owned())).host;
        assert_eq!(host(&["localhost"]), "localhost");
        assert_eq!(host(&["127.0.0.1", "localhost"]), "localhost");
        assert_eq!(host(&["", "localhost"]), "localhost", "an empty variable names nothing");
        assert_eq!(host(&["192.168.0.5", "localhost"]), "0.0.0.0");
        assert_eq!(host(&["robot"]), "0.0.0.0");
    }

    #[test]
    fn the_port_is_passed_on_and_logs_are_left_to_who_gathers_them() {
        let settings_of = |port, logs| {
            let MasterSettings { port, gathers_logs, .. } = settings(port, logs, []);
            (port, gathers_logs)
        };
        assert_eq!(settings_of(Some(5), Logs::Gathered), (Some(5), true));
        assert_eq!(settings_of(None, Logs::Left), (None, false));
    }

    #[test]
    fn the_arguments_of_the_originals_are_taken() {
        for line in [
            "-p 1",
            "--port=1 --core",
            "--core -p 1 -w 3 -t 10 -v",
            "--numw 5",
            "--master-logger-level debug",
        ] {
            let words = [&["rosmaster"], line.split(' ').collect::<Vec<_>>().as_slice()].concat();
            let command = super::super::Program::Rosmaster.command();
            assert!(command.try_get_matches_from(words).is_ok(), "{line}");
        }
    }
}
