//! The ROS master as a program: `runnel master`, `roscore` and `rosmaster`.

mod rosout;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use runnel::{Context, MasterOptions};
use runnel_io::lookup::{self, Family};
use runnel_ros1::rpc::Uri;
use serde_json::json;

use crate::cli_context::{CliContext, family};
use crate::error::{CliError, plain};

/// The address of a master for nodes of its own host only.
pub const THIS_HOST: &str = "localhost";

/// Where a master listens, and its further tasks.
pub struct MasterSettings {
    /// The port; 0 for a free one. `None` for that of ROS_MASTER_URI, or 11311.
    pub port: Option<u16>,
    /// The address or host name to listen on and to announce.
    pub host: String,
    /// The file that keeps parameters.
    pub persist: Option<PathBuf>,
    /// Whether to collect log lines of all nodes.
    pub collects_logs: bool,
}

/// Runs a master until Ctrl-C.
///
/// # Errors
/// When it cannot listen.
pub fn run(settings: &MasterSettings, cli: &CliContext) -> Result<(), CliError> {
    let named = cli.master_uri()?;
    let bind = address(&settings.host, settings.port.unwrap_or(named.endpoint.port), family())?;
    let (context, uri) = start(settings, bind, cli)?;
    if let Some(warning) = address_warning(&named, bind, &uri) {
        log::warn!("{warning}");
    }
    let _collected = if settings.collects_logs { Some(rosout::collect(&context)?) } else { None };
    cli.output.answer(|| format!("ROS_MASTER_URI={uri}"), || json!({ "uri": uri }))?;
    Ok(context.spin()?)
}

fn start(
    settings: &MasterSettings,
    bind: SocketAddr,
    cli: &CliContext,
) -> Result<(Context, String), CliError> {
    let mut options = MasterOptions::at(bind);
    // An address that others cannot use is announced as this host's name.
    if !bind.ip().is_unspecified() {
        options = options.advertised(&settings.host);
    }
    if let Some(file) = &settings.persist {
        options = options.persist(file);
    }
    let cannot = |why: &dyn std::fmt::Display| CliError::Failed(format!("cannot listen on {bind}: {why}"));
    let started = Context::with_master(cli.options(true), options);
    started.map(|(context, uri)| (context, uri.to_string())).map_err(|error| match error {
        runnel::Error::Listen { error, .. } if error.kind() == io::ErrorKind::AddrInUse => {
            cannot(&"the port is in use, maybe by another master. Try: another --port")
        }
        runnel::Error::Listen { error, .. } if error.kind() == io::ErrorKind::AddrNotAvailable => {
            cannot(&format_args!("{} is not an address of this host", bind.ip()))
        }
        runnel::Error::Listen { error, .. } => cannot(&plain(&error.to_string())),
        error => error.into(),
    })
}

/// A warning if nodes look for the master at `named`, and this one, at `here`, listens on loopback only.
fn address_warning(named: &Uri, bind: SocketAddr, here: &str) -> Option<String> {
    let host = &named.endpoint.host;
    (bind.ip().is_loopback() && !lookup::is_loopback(host)).then(|| {
        format!(
            "ROS_MASTER_URI is {named}, but this master listens on loopback only. Try: '--host {host}' to listen there, \
                 or ROS_MASTER_URI={here} for nodes of this host"
        )
    })
}

/// The address of `host`; one of the address family if it has several.
fn address(host: &str, port: u16, family: Family) -> Result<SocketAddr, CliError> {
    if let Some(address) = lookup::resolve_immediately(host, port, family) {
        return Ok(address);
    }
    let unknown = |why: &str| CliError::Failed(format!("host {host}: {why}"));
    let found = (host, port).to_socket_addrs().map_err(|error| unknown(&plain(&error.to_string())))?;
    let chosen = family.choose(found.map(|address| address.ip()));
    chosen.map(|address| SocketAddr::new(address, port)).ok_or_else(|| unknown("has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_address_needs_no_lookup() {
        let text = |host, family| address(host, 1, family).expect("an address").to_string();
        for family in [Family::V4, Family::V6] {
            assert_eq!([text("127.0.0.1", family), text("::1", family)], ["127.0.0.1:1", "[::1]:1"]);
        }
    }

    #[test]
    fn other_master_address_causes_a_warning() {
        let warning = |uri, bind: &str| {
            address_warning(
                &Uri::parse(uri).expect("a URI"),
                bind.parse().expect("an address"),
                "http://localhost:9000/",
            )
        };
        for here in ["http://localhost:1/", "http://LOCALHOST:1/", "http://127.0.1.1:1/", "http://[::1]:1/"] {
            assert_eq!(warning(here, "127.0.0.1:1"), None, "{here}");
        }
        let robot = "http://robot:11311/";
        assert_eq!(warning(robot, "0.0.0.0:11311"), None, "it may be one of those names");
        let warning = warning(robot, "127.0.0.1:9000").expect("a warning");
        assert!(
            warning.contains("'--host robot'") && warning.contains("http://localhost:9000/"),
            "{warning}"
        );
    }

    #[test]
    fn localhost_resolves_in_the_address_family() {
        let text = |family| address("localhost", 1, family).expect("an address").to_string();
        assert_eq!([Family::V4, Family::V6].map(text), ["127.0.0.1:1", "[::1]:1"]);
    }
}
