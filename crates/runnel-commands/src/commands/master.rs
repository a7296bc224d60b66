//! `runnel master`

use std::path::PathBuf;

use crate::error::CliError;
use crate::master::{self, MasterSettings, THIS_HOST};
use crate::session::Session;

/// Run the ROS master and parameter server, as roscore does
///
/// It listens on this host alone unless --host names an address that others reach. It gathers what nodes log on
/// /rosout and tells it on /rosout_agg and, where ROS_LOG_DIR is set, in the file rosout.log there. It ends on Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The port to listen on; 0 takes a free one [default: that of ROS_MASTER_URI, or 11311]
    #[arg(short, long)]
    port: Option<u16>,

    /// The address or host name to listen on and to announce; 0.0.0.0 is every interface
    #[arg(long, value_name = "ADDR", default_value = THIS_HOST)]
    host: String,

    /// Keep parameters in this file, and begin with those that it holds (a journal of the master's own; a YAML file is
    /// loaded with 'runnel param load')
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    persist: Option<PathBuf>,

    /// Do not gather what nodes log
    #[arg(long)]
    no_rosout: bool,
}

pub fn run(args: Args, session: &Session) -> Result<(), CliError> {
    let Args { port, host, persist, no_rosout } = args;
    master::run(&MasterSettings { port, host, persist, gathers_logs: !no_rosout }, session)
}
