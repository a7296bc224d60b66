//! The graph of the demo: a master of its own, or a ROS 2 domain.

use std::io::ErrorKind;
use std::net::Ipv4Addr;

use runnel::{Context, ContextOptions, Error, Graphs, MasterOptions};
use runnel_ros1::rpc::Uri;

use crate::error::CliError;

/// The port where nodes and commands look for a master by default.
const DEFAULT_PORT: u16 = 11311;

/// The graph of the demo.
pub enum DemoGraph {
    /// ROS 1 with this master. Its context lives to the end, and no signal stops it.
    Ros1 {
        /// The master's URI.
        master: Uri,
        /// The context that serves the master.
        _serving: Context,
    },
    /// The ROS 2 domain of the environment.
    Ros2,
}

impl DemoGraph {
    /// Prepares the graph. The master gets the default port if that is free, and otherwise any.
    ///
    /// # Errors
    /// When the master cannot be started.
    pub fn prepare(ros2: bool) -> Result<Self, CliError> {
        if ros2 {
            return Ok(Self::Ros2);
        }
        let serving = context(false, Some("http://127.0.0.1:1/"))?;
        let at = |port| serving.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, port)));
        let master = match at(DEFAULT_PORT) {
            Err(Error::Listen { error, .. }) if error.kind() == ErrorKind::AddrInUse => at(0),
            started => started,
        };
        Ok(Self::Ros1 { master: master?, _serving: serving })
    }

    /// The context of the watching node.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn watcher(&self) -> Result<Context, CliError> {
        match self {
            Self::Ros1 { master, .. } => context(true, Some(&master.to_string())),
            Self::Ros2 => context(true, None),
        }
    }

    /// What this process does in the graph, for the table of memory.
    pub fn own_role(&self) -> &'static str {
        match self {
            Self::Ros1 { .. } => "demo: master and screen",
            Self::Ros2 => "demo: screen",
        }
    }

    /// The command that a person types first in another terminal, so that commands and nodes there find this graph;
    /// `None` if they find it by default.
    pub fn export(&self) -> Option<String> {
        match self {
            Self::Ros1 { master, .. } => export(master, std::env::var("ROS_MASTER_URI").ok().as_deref()),
            Self::Ros2 => None,
        }
    }

    /// Why commands do not find the master by default, if so.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Ros1 { master, .. } if master.endpoint.port != DEFAULT_PORT => Some(format!(
                "Port {DEFAULT_PORT} is in use, so this master has port {}.",
                master.endpoint.port
            )),
            _ => None,
        }
    }
}

/// As [`DemoGraph::export`], with `named` as the master of the environment.
fn export(master: &Uri, named: Option<&str>) -> Option<String> {
    let named = named.map(Uri::parse);
    let leads_here = match &named {
        None => master.endpoint.port == DEFAULT_PORT,
        Some(Ok(named)) => {
            named.endpoint.port == master.endpoint.port
                && matches!(named.endpoint.host.as_str(), "localhost" | "127.0.0.1")
        }
        Some(Err(_)) => false,
    };
    (!leads_here).then(|| format!("export ROS_MASTER_URI={}", master.to_string().trim_end_matches('/')))
}

/// A context with this master on loopback, or in ROS 2. It ignores names and addresses of the environment.
fn context(signals: bool, master: Option<&str>) -> Result<Context, CliError> {
    let mut arguments = vec!["__ip:=127.0.0.1".to_owned(), "__ns:=/".into()];
    arguments.extend(master.map(|master| format!("__master:={master}")));
    let graphs = if master.is_some() { Graphs::Ros1 } else { Graphs::Ros2 };
    let options = ContextOptions::default().arguments(arguments).signals(signals).graphs(graphs);
    Ok(Context::with_options(options)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ros1_demo_has_a_master() {
        assert_eq!(DemoGraph::Ros2.own_role(), "demo: screen");
        assert!(DemoGraph::Ros2.export().is_none() && DemoGraph::Ros2.remark().is_none());
    }

    #[test]
    fn export_is_shown_unless_commands_find_the_master() {
        let uri = |text: &str| Uri::parse(text).expect("a URI");
        let (usual, other) = (uri("http://127.0.0.1:11311/"), uri("http://127.0.0.1:40001/"));
        assert_eq!(export(&usual, None), None);
        assert_eq!(export(&usual, Some("http://localhost:11311")), None);
        assert_eq!(
            export(&usual, Some("http://robot:11311")).as_deref(),
            Some("export ROS_MASTER_URI=http://127.0.0.1:11311")
        );
        assert_eq!(export(&other, None).as_deref(), Some("export ROS_MASTER_URI=http://127.0.0.1:40001"));
        assert_eq!(export(&other, Some("nonsense")).as_deref(), export(&other, None).as_deref());
        assert_eq!(export(&other, Some("http://localhost:40001")), None);
    }
}
