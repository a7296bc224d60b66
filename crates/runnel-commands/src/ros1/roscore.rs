//! `roscore` and `rosmaster`

use clap::{FromArgMatches, Parser};

use super::Failure;
use crate::commands;
use crate::commands::master::is_loopback;
use crate::session::Session;

/// Run the ROS master and parameter server, as the roscore of ROS 1 does
///
/// It serves this computer alone, unless ROS_MASTER_URI, ROS_IP or ROS_HOSTNAME names another address than that of
/// loopback: then it serves all that reach this computer.
#[derive(Debug, Parser)]
pub struct Args {
    /// The port to listen on [default: that of ROS_MASTER_URI, or 11311]
    #[arg(short, long)]
    port: Option<u16>,

    /// Run as roscore: it always does
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

/// The variables that say under which address others reach this computer.
const ADDRESSES: [&str; 2] = ["ROS_HOSTNAME", "ROS_IP"];

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
    let words = master_words(args.port, logs, own.chain([master]));
    let matches = commands::command().try_get_matches_from(words);
    let cli = matches.and_then(|mut matches| commands::Cli::from_arg_matches_mut(&mut matches));
    Ok(commands::run(cli.map_err(crate::error::CliError::from)?.command, session)?)
}

/// The command of Runnel's that is meant, by the hosts that the environment names.
fn master_words(port: Option<u16>, logs: Logs, hosts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words = vec!["runnel".to_owned(), "master".to_owned()];
    words.extend(port.into_iter().flat_map(|port| ["--port".to_owned(), port.to_string()]));
    if logs == Logs::Left {
        words.push("--no-rosout".to_owned());
    }
    // An empty variable is one that is not set.
    if hosts.into_iter().any(|host| !host.is_empty() && !is_loopback(&host)) {
        words.extend(["--host", "0.0.0.0"].map(str::to_owned));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(port: Option<u16>, hosts: &[&str]) -> String {
        master_words(port, Logs::Gathered, hosts.iter().map(|host| (*host).to_owned())).join(" ")
    }

    #[test]
    fn the_master_serves_others_where_the_environment_names_an_address_for_them() {
        assert_eq!(words(None, &["localhost"]), "runnel master");
        assert_eq!(words(Some(5), &["127.0.0.1", "localhost"]), "runnel master --port 5");
        assert_eq!(words(None, &["", "localhost"]), "runnel master", "an empty variable names nothing");
        assert_eq!(words(None, &["192.168.0.5", "localhost"]), "runnel master --host 0.0.0.0");
        assert_eq!(words(Some(0), &["robot"]), "runnel master --port 0 --host 0.0.0.0");
        assert_eq!(master_words(None, Logs::Left, []).join(" "), "runnel master --no-rosout");
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
