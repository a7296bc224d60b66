//! `runnel master`

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use runnel::Context;
use serde_json::json;

use crate::error::{CliError, plain};
use crate::session::Session;

/// Run the ROS master and parameter server, as roscore does
///
/// It listens on this host alone unless --host names an address that others reach. It ends on Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The port to listen on; 0 takes a free one [default: that of ROS_MASTER_URI, or 11311]
    #[arg(short, long)]
    port: Option<u16>,

    /// The address or host name to listen on and to announce; 0.0.0.0 is every interface
    #[arg(long, value_name = "ADDR", default_value = "localhost")]
    host: String,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let context = session.running()?;
    let port = args.port.unwrap_or(context.master_uri().endpoint.port);
    let bind = address(&args.host, port)?;
    // What is no address that others could use is announced as this host's name.
    let announced = (!bind.ip().is_unspecified()).then_some(args.host.as_str());
    let uri = start(&context, bind, announced)?;
    session.output.answer(|| format!("ROS_MASTER_URI={uri}"), || json!({ "uri": uri }))?;
    Ok(context.spin()?)
}

fn start(context: &Context, bind: SocketAddr, announced: Option<&str>) -> Result<String, CliError> {
    let cannot = |why: &dyn std::fmt::Display| CliError::Failed(format!("cannot listen on {bind}: {why}"));
    context.start_master(bind, announced).map(|uri| uri.to_string()).map_err(|error| match error {
        runnel::Error::Io(error) if error.kind() == io::ErrorKind::AddrInUse => {
            cannot(&"the port is in use (is another master running? choose another with --port)")
        }
        runnel::Error::Io(error) => cannot(&plain(&error.to_string())),
        error => cannot(&error),
    })
}

/// The address that `host` names, an IPv4 one if it names both kinds: nodes of ROS 1 know no other.
fn address(host: &str, port: u16) -> Result<SocketAddr, CliError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let unknown = |why: &str| CliError::Failed(format!("host {host}: {why}"));
    let found = (host, port).to_socket_addrs().map_err(|error| unknown(&plain(&error.to_string())))?;
    let found: Vec<SocketAddr> = found.collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| unknown("has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_look_up() {
        assert_eq!(address("127.0.0.1", 1).expect("an address").to_string(), "127.0.0.1:1");
        assert_eq!(address("::1", 2).expect("an address").to_string(), "[::1]:2");
    }
}
