//! Where the demonstration takes place: at a master of its own, or in a domain of ROS 2.

use std::net::Ipv4Addr;

use runnel::ros1::rpc::Uri;
use runnel::{Context, ContextOptions, Graphs, MasterOptions};

use crate::error::CliError;

/// Where the demonstration takes place.
pub enum Place {
    /// At this master, whose context serves to the very end, and which no signal stops.
    Ros1 {
        /// Where it answers.
        master: Uri,
        /// What it is served by.
        _serving: Context,
    },
    /// In the domain of ROS 2 that the environment names.
    Ros2,
}

impl Place {
    /// Prepares it.
    ///
    /// # Errors
    /// When the master cannot be started.
    pub fn prepare(ros2: bool) -> Result<Self, CliError> {
        if ros2 {
            return Ok(Self::Ros2);
        }
        let serving = context(false, Some("http://127.0.0.1:1/"))?;
        let master = serving.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, 0)))?;
        Ok(Self::Ros1 { master, _serving: serving })
    }

    /// The context of whoever watches here.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn watcher(&self) -> Result<Context, CliError> {
        match self {
            Self::Ros1 { master, .. } => context(true, Some(&master.to_string())),
            Self::Ros2 => context(true, None),
        }
    }

    /// What a person types to see the topics.
    pub fn look_on(&self) -> String {
        match self {
            Self::Ros1 { master, .. } => {
                format!("runnel topic list __master:={}", master.to_string().trim_end_matches('/'))
            }
            Self::Ros2 => "runnel topic list --ros2".to_owned(),
        }
    }
}

/// A context of this master on loopback, or of ROS 2, whatever the environment says of names and addresses.
fn context(signals: bool, master: Option<&str>) -> Result<Context, CliError> {
    let mut arguments = vec!["__ip:=127.0.0.1".to_owned(), "__ns:=/".into()];
    arguments.extend(master.map(|master| format!("__master:={master}")));
    let graphs = if master.is_some() { Graphs::Ros1 } else { Graphs::Ros2 };
    let options = ContextOptions::default().arguments(arguments).signals(signals).graphs(graphs);
    Ok(Context::with_options(options)?)
}
