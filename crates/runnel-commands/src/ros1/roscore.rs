//! `roscore` and `rosmaster`

use clap::{CommandFactory, Parser};
use runnel_io::lookup::is_loopback;

use super::Failure;
use crate::cli_context::CliContext;
use crate::master::{self, MasterSettings};

/// Text about addresses in the help of both programs.
const SERVES: &str = "It listens on loopback only, unless ROS_MASTER_URI, ROS_IP or ROS_HOSTNAME names another \
                      address: then it listens on all interfaces.";

const ABOUT_ROSCORE: &str = "Run the ROS master and parameter server, like roscore of ROS 1";
const ABOUT_ROSMASTER: &str = "Run only the ROS master and parameter server, like rosmaster of ROS 1: log lines of \
                               nodes are not collected";

#[derive(Debug, Parser)]
pub struct Args {
    /// The port to listen on [default: that of ROS_MASTER_URI, or 11311]
    #[arg(short, long)]
    port: Option<u16>,

    /// Accepted for scripts; no effect
    #[arg(long)]
    core: bool,

    /// Log more
    #[arg(short)]
    verbose: bool,

    /// Number of threads; always one here
    #[arg(short = 'w', long, value_name = "COUNT")]
    numworkers: Option<u32>,

    /// Time-out of calls to nodes, in seconds; the master here waits for none
    #[arg(short, long, value_name = "SECONDS")]
    timeout: Option<f64>,

    /// The minimum level of the master's log
    #[arg(long, value_name = "LEVEL")]
    master_logger_level: Option<String>,
}

impl Args {
    /// The parser of one of the two programs.
    pub fn command_of(logs: Logs) -> clap::Command {
        let (name, about) = match logs {
            Logs::Collected => ("roscore", ABOUT_ROSCORE),
            Logs::Ignored => ("rosmaster", ABOUT_ROSMASTER),
        };
        Self::command().name(name).about(about).long_about(format!("{about}\n\n{SERVES}"))
    }
}

/// The variables that name this host's address for others.
const ADDRESSES: [&str; 2] = ["ROS_HOSTNAME", "ROS_IP"];

/// Where the master listens for nodes of other hosts.
const EVERY_INTERFACE: &str = "0.0.0.0";

/// What happens to log lines of nodes: the original rosmaster leaves them to another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logs {
    Collected,
    Ignored,
}

pub fn run(args: &Args, cli: &CliContext, logs: Logs) -> Result<(), Failure> {
    if args.verbose {
        log::set_max_level(log::LevelFilter::Info);
    }
    let own = ADDRESSES.iter().filter_map(|name| std::env::var(name).ok());
    let master = cli.master_uri()?.endpoint.host;
    Ok(master::run(&settings(args.port, logs, own.chain([master])), cli)?)
}

/// The master for these hosts of the environment.
fn settings(port: Option<u16>, logs: Logs, hosts: impl IntoIterator<Item = String>) -> MasterSettings {
    // An empty variable counts as unset.
    let for_others = hosts.into_iter().any(|host| !host.is_empty() && !is_loopback(&host));
    let host = if for_others { EVERY_INTERFACE } else { master::THIS_HOST }.to_owned();
    MasterSettings { port, host, persist: None, collects_logs: logs == Logs::Collected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn master_serves_other_hosts_if_the_environment_says() {
        let host = |hosts: &[&str]| {
            settings(None, Logs::Collected, hosts.iter().map(|host| (*host).to_owned())).host
        };
        assert_eq!(host(&["localhost"]), "localhost");
        assert_eq!(host(&["127.0.0.1", "localhost"]), "localhost");
        assert_eq!(host(&["", "localhost"]), "localhost", "an empty variable names nothing");
        assert_eq!(host(&["192.168.0.5", "localhost"]), "0.0.0.0");
        assert_eq!(host(&["robot"]), "0.0.0.0");
    }

    #[test]
    fn port_and_log_settings_are_passed_on() {
        let settings_of = |port, logs| {
            let MasterSettings { port, collects_logs, .. } = settings(port, logs, []);
            (port, collects_logs)
        };
        assert_eq!(settings_of(Some(5), Logs::Collected), (Some(5), true));
        assert_eq!(settings_of(None, Logs::Ignored), (None, false));
    }

    #[test]
    fn arguments_of_the_originals_are_accepted() {
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
