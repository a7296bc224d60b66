//! Hosts in the ROS 2 graph: private networks connected by cables, with default configuration.

use std::ffi::OsString;

use runnel_testkit::process::Peer;

use crate::containers::{Container, Network};
use crate::ros2::{Origin, command_line};

/// A host; dropping it ends all its processes.
pub struct Host {
    container: Container,
}

impl Host {
    /// A host with only loopback.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn start() -> Host {
        let container = Container::start(Network::Own, &[])
            .with("ROS_LOG_DIR", "/tmp")
            .with("PYTHONUNBUFFERED", "1")
            .with("PYTHONDONTWRITEBYTECODE", "1");
        Host { container }
    }

    /// Two hosts connected by a cable.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn two() -> [Host; 2] {
        let [one, other] = [Host::start(), Host::start()];
        one.lay_cable(&other, "cable", ["10.0.0.1", "10.0.0.2"]);
        [one, other]
    }

    /// Adds a cable to another host, with this name and an address at both ends.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn lay_cable(&self, other: &Host, name: &str, addresses: [&str; 2]) {
        Container::lay_cable(&self.container, &other.container, name);
        for (host, address) in [self, other].into_iter().zip(addresses) {
            host.plug_in(name, address);
        }
    }

    /// Adds a cable with an address only at the other end: Fast DDS enumerates interfaces once, and ignores those
    /// without a carrier.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn lay_loose_cable(&self, other: &Host, name: &str, address_there: &str) {
        Container::lay_cable(&self.container, &other.container, name);
        self.container.set_network(&["link", "set", name, "up"]);
        other.plug_in(name, address_there);
    }

    /// Gives this end of a cable an address, and activates it.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn plug_in(&self, cable: &str, address: &str) {
        self.container.set_network(&["address", "add", &format!("{address}/24"), "dev", cable]);
        self.container.set_network(&["link", "set", cable, "up"]);
        // Every host has a default route: Fast DDS 2.9 sends multicast along it.
        self.container.set_network(&["route", "append", "default", "dev", cable]);
    }

    /// Runs `ip` on this host.
    ///
    /// # Panics
    /// If it fails.
    pub fn set_network(&self, words: &[&str]) {
        self.container.set_network(words);
    }

    /// Runs a command on this host to its end.
    ///
    /// # Panics
    /// If it fails.
    pub fn set(&self, words: &[&str]) {
        self.container.run(words);
    }

    /// Runs a command on this host to its end, and returns its output.
    ///
    /// # Panics
    /// If it fails.
    pub fn output(&self, words: &[&str]) -> String {
        self.container.run(words)
    }

    /// Process id by which this host's network is entered.
    pub fn keeper(&self) -> u32 {
        self.container.keeper()
    }

    /// Starts a talker or a listener with these additional variables.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn node(
        &self,
        origin: Origin,
        role: &str,
        arguments: &[&str],
        variables: &[(&'static str, &str)],
    ) -> Peer {
        let name = format!("{origin}_{role}");
        let line = command_line(origin, role, &name, arguments);
        let variables = variables.iter().map(|(name, value)| OsString::from(format!("{name}={value}")));
        let line: Vec<OsString> = [OsString::from("env")].into_iter().chain(variables).chain(line).collect();
        self.container.start_in(&name, &line)
    }
}
