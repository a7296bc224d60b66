//! `runnel master`

use std::path::PathBuf;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::master::{self, MasterSettings, THIS_HOST};

/// Run the ROS master and parameter server, like roscore
///
/// By default it listens on loopback only. --host ADDRESS accepts nodes of other computers. It collects log lines
/// from /rosout, publishes them on /rosout_agg, and writes them to rosout.log in ROS_LOG_DIR if that is set. Ctrl-C
/// ends it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The port to listen on; 0 for a free one [default: that of ROS_MASTER_URI, or 11311]
    #[arg(short, long)]
    port: Option<u16>,

    /// The address or host name to listen on and to announce; 0.0.0.0 for all interfaces
    #[arg(long, value_name = "ADDR", default_value = THIS_HOST)]
    host: String,

    /// Keep parameters in this file, and read those it holds at the start (a journal of the master; load YAML files
    /// with 'runnel param load')
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    persist: Option<PathBuf>,

    /// Do not collect log lines
    #[arg(long)]
    no_rosout: bool,
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    let Args { port, host, persist, no_rosout } = args;
    master::run(&MasterSettings { port, host, persist, collects_logs: !no_rosout }, cli)
}
