//! Settings of a process from the environment and the command line.

mod graph_choice;
mod logging;
mod params_file;
mod ros2;

use std::env;
use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::sync::{LazyLock, Once};

use runnel_core::local_peer::LocalIdentity;
use runnel_core::names::Arguments;
use runnel_io::host;
use runnel_io::lookup::{Family, is_loopback};
use runnel_io::memory::IS_SHAREABLE;
use runnel_ros1::net::Endpoint;
use runnel_ros1::rpc::Uri;

use crate::error::Error;
use crate::log_output::console;
use crate::settings::receive_budget::ReceiveLimits;
use crate::settings::variables::variable;
pub(crate) use graph_choice::{VARIABLE as GRAPHS_VARIABLE, chosen as chosen_graphs};
pub(crate) use logging::destinations as log_destinations;
pub(crate) use params_file::{FileParams, FileValue, argument_value};
pub use ros2::Range;
pub(crate) use ros2::{Ipv6, Ros2Settings};

/// The graphs in which the nodes of a context are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Graphs {
    /// The ROS 1 graph, which has a master.
    #[default]
    Ros1,
    /// The ROS 2 graph, which needs no master.
    Ros2,
    /// Both. Each topic is in both graphs. Two nodes that are in both exchange each message once: by ROS 2 where they
    /// match there, otherwise by ROS 1.
    Both,
}

/// Settings of a process.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Settings of the ROS 1 graph, if the process is in it.
    pub(crate) ros1: Option<Ros1Settings>,
    /// Settings of the ROS 2 graph, if the process is in it.
    pub(crate) ros2: Option<Ros2Settings>,
    /// The address family of hosts: `ROS_IPV6=on` selects IPv6.
    pub(crate) family: Family,
    /// The namespace of nodes without one.
    pub(crate) namespace: String,
    /// Settings of shared memory within the host; `None` if it is not used.
    pub(crate) ipc: Option<IpcSettings>,
    /// Limits for incomplete ROS 1 messages.
    pub(crate) receive: ReceiveLimits,
    /// Parameters from files named by arguments.
    pub(crate) params: FileParams,
}

/// Settings of a process in the ROS 1 graph.
#[derive(Clone, Debug)]
pub(crate) struct Ros1Settings {
    /// The master.
    pub(crate) master: Uri,
    /// The host that is announced to others.
    pub(crate) host: String,
    /// The address on which sockets listen.
    pub(crate) bind: IpAddr,
    /// Whether calls wait for the master before it has answered once.
    pub(crate) wait_for_master: bool,
}

/// Settings of a process that may use shared memory within the host.
#[derive(Clone, Debug)]
pub(crate) struct IpcSettings {
    /// The identity that peers discover, and the secret from which tokens are made.
    pub(crate) identity: LocalIdentity,
    /// The folder in which processes without a common network discover each other.
    pub(crate) directory: Option<PathBuf>,
    /// Other users whose processes may have IPC connections with this one.
    pub(crate) users: Vec<u32>,
}

impl Settings {
    /// Reads the environment. Arguments have priority, as in roscpp.
    pub(crate) fn read(arguments: &Arguments, graphs: Graphs) -> Result<Self, Error> {
        let family = if variable("ROS_IPV6").as_deref() == Some("on") { Family::V6 } else { Family::V4 };
        let namespace = arguments.namespace.clone().or_else(|| variable("ROS_NAMESPACE")).unwrap_or_default();
        let ros1 = (graphs != Graphs::Ros2).then(|| Ros1Settings::read(arguments, family)).transpose()?;
        let ros2 = (graphs != Graphs::Ros1).then(|| Ros2Settings::read(arguments)).transpose()?;
        let params = FileParams::read(&arguments.params_files)?;
        Ok(Self { ros1, ros2, family, namespace, ipc: ipc()?, receive: ReceiveLimits::read()?, params })
    }

    /// The graphs of the nodes.
    pub(crate) fn graphs(&self) -> Graphs {
        match (&self.ros1, &self.ros2) {
            (_, None) => Graphs::Ros1,
            (None, _) => Graphs::Ros2,
            _ => Graphs::Both,
        }
    }
}

impl Ros1Settings {
    fn read(arguments: &Arguments, family: Family) -> Result<Self, Error> {
        let master = master_uri(arguments)?;
        let host = match configured_host(arguments) {
            Some((variable, host)) => {
                let host = check_host(variable, host)?;
                warn_of_foreign_host(variable, &host);
                host
            }
            None if is_loopback(&master.endpoint.host) => master.endpoint.host.clone(),
            None => own_address(&master, family).map_or_else(host::name, |address| address.to_string()),
        };
        let bind = address_to_bind(&host, family);
        Ok(Self { master, host, bind, wait_for_master: true })
    }
}

/// Reads the settings of shared memory: `RUNNEL_IPC=off` disables it. `RUNNEL_IPC_DIR` names a folder in which
/// processes without a common network discover each other. `RUNNEL_IPC_USERS` lists the ids of other users whose
/// processes are accepted. Where memory is not [shareable](IS_SHAREABLE), links stay on the network too.
fn ipc() -> Result<Option<IpcSettings>, Error> {
    let why = |value: String| format!("{value:?} is neither on nor off");
    match variable("RUNNEL_IPC").as_deref() {
        None | Some("on") => {}
        Some("off") => return Ok(None),
        Some(other) => {
            return Err(Error::Environment { variable: "RUNNEL_IPC", why: why(other.to_owned()) });
        }
    }
    if !IS_SHAREABLE {
        console::debug!("links stay on the network: this processor cannot share memory between processes");
        return Ok(None);
    }
    let random = || Ok::<_, Error>(u128::from(host::random()?) << 64 | u128::from(host::random()?));
    let identity = LocalIdentity { process: random()?, secret: random()? };
    // The process may change its working directory later.
    let absolute = |directory: PathBuf| std::path::absolute(&directory).unwrap_or(directory);
    let directory = env::var_os("RUNNEL_IPC_DIR").filter(|directory| !directory.is_empty());
    let directory = directory.map(PathBuf::from).map(absolute);
    let users = variable("RUNNEL_IPC_USERS").map_or(Ok(Vec::new()), |list| user_ids(&list))?;
    Ok(Some(IpcSettings { identity, directory, users }))
}

/// Parses user ids separated by commas.
fn user_ids(list: &str) -> Result<Vec<u32>, Error> {
    let number = |text: &str| text.trim().parse().map_err(|_| text.to_owned());
    list.split(',').map(number).collect::<Result<_, _>>().map_err(|text| Error::Environment {
        variable: "RUNNEL_IPC_USERS",
        why: format!("{text:?} is not a user id"),
    })
}

/// The default master.
pub(crate) fn default_master() -> &'static Uri {
    static DEFAULT: LazyLock<Uri> = LazyLock::new(|| {
        let endpoint = Endpoint { host: "localhost".to_owned(), port: 11311 };
        Uri { endpoint, path: "/".to_owned() }
    });
    &DEFAULT
}

/// The master named by arguments or the environment.
fn master_uri(arguments: &Arguments) -> Result<Uri, Error> {
    let Some(text) = arguments.master.clone().or_else(|| variable("ROS_MASTER_URI")) else {
        return Ok(default_master().clone());
    };
    Uri::parse(&text)
        .map_err(|error| Error::Environment { variable: "ROS_MASTER_URI", why: error.to_string() })
}

/// The host to announce, and the setting that names it: arguments before variables, names before addresses.
fn configured_host(arguments: &Arguments) -> Option<(&'static str, String)> {
    let named = |what, value: &Option<String>| value.clone().map(|value| (what, value));
    let configured = named("__hostname", &arguments.hostname).or_else(|| named("__ip", &arguments.ip));
    let by_variable = |name| variable(name).map(|value| (name, value));
    configured.or_else(|| by_variable("ROS_HOSTNAME")).or_else(|| by_variable("ROS_IP"))
}

/// Checks that a host can be part of a URI.
fn check_host(variable: &'static str, host: String) -> Result<String, Error> {
    let text = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.clone() };
    match Uri::parse(&format!("http://{text}:1/")) {
        Ok(_) => Ok(host),
        Err(error) => Err(Error::Environment { variable, why: error.to_string() }),
    }
}

/// Warns once per process if the announced host is not an address of this host. Names are not looked up, which may take
/// long.
fn warn_of_foreign_host(variable: &'static str, host: &str) {
    static WARNED: Once = Once::new();
    if let Some(why) = foreign_host(variable, host) {
        WARNED.call_once(|| {
            console::warning!(
                "{variable}: {why}: other nodes cannot reach nodes of this process. Try: correct or unset it"
            );
        });
    }
}

/// Why others cannot reach this process at the announced host, without looking up a name.
fn foreign_host(variable: &str, host: &str) -> Option<String> {
    match host.parse::<IpAddr>() {
        Ok(address) => {
            let is_own = UdpSocket::bind((address, 0)).is_ok();
            (!is_own).then(|| format!("{host} is not an address of this host"))
        }
        Err(_) if ["ROS_IP", "__ip"].contains(&variable) => Some(format!("{host} is not an IP address")),
        Err(_) => None,
    }
}

/// Loopback for a loopback host, otherwise all addresses: of the host's family if it is an address, or else of
/// `family`.
fn address_to_bind(host: &str, family: Family) -> IpAddr {
    let family = match host.parse() {
        Ok(IpAddr::V4(_)) => Family::V4,
        Ok(IpAddr::V6(_)) => Family::V6,
        Err(_) => family,
    };
    if is_loopback(host) { family.loopback() } else { family.unspecified() }
}

/// This host's address on the route to the master, which other nodes can reach as well as the master can. The socket
/// sends nothing: connecting a datagram socket only selects the route.
fn own_address(master: &Uri, family: Family) -> Option<IpAddr> {
    let Endpoint { host, port } = &master.endpoint;
    let addresses = (host.as_str(), *port).to_socket_addrs().ok()?;
    let to = family.choose(addresses.map(|address| address.ip()))?;
    let of_its_family = if to.is_ipv6() { Family::V6 } else { Family::V4 };
    let socket = UdpSocket::bind((of_its_family.unspecified(), 0)).ok()?;
    socket.connect((to, *port)).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_listen_on_address_of_announced_host() {
        for (host, family, bind) in [
            ("localhost", Family::V4, "127.0.0.1"),
            ("localhost", Family::V6, "::1"),
            ("127.0.0.1", Family::V6, "127.0.0.1"),
            ("::1", Family::V4, "::1"),
            ("10.0.0.5", Family::V6, "0.0.0.0"),
            ("fd00::5", Family::V4, "::"),
            ("robot", Family::V4, "0.0.0.0"),
            ("robot", Family::V6, "::"),
        ] {
            assert_eq!(address_to_bind(host, family).to_string(), bind, "{host} {family:?}");
        }
    }

    #[test]
    fn foreign_host_is_recognized() {
        let why = |variable, host| foreign_host(variable, host);
        assert_eq!(why("ROS_IP", "127.0.0.1"), None);
        assert_eq!(why("ROS_IP", "192.0.2.7").as_deref(), Some("192.0.2.7 is not an address of this host"));
        assert_eq!(
            why("ROS_HOSTNAME", "192.0.2.7").as_deref(),
            Some("192.0.2.7 is not an address of this host")
        );
        assert_eq!(why("ROS_IP", "nonsense").as_deref(), Some("nonsense is not an IP address"));
        assert_eq!(why("ROS_HOSTNAME", "robot"), None);
    }
}
