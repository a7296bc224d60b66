//! ROS 2, and programs of other DDS implementations, as peers: the talkers and listeners of `peers/`, each domain
//! with its own environment.
//!
//! All talkers and listeners take the same options and print the same lines, within the limits of their
//! implementation.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};

use runnel::{Context, ContextOptions, Graphs};
use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::Peer;
use tempfile::TempDir;

use crate::dds;
use crate::distros::{environment, python};
use crate::graph::{LINGER, start};
use crate::programs::built;
use crate::sources;

pub use crate::distros::Distro;

/// Keeps Cyclone DDS on loopback.
const CYCLONE: &str = "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/>\
                       </Interfaces></General></Domain></CycloneDDS>";

/// Implementation of a talker or a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// rclpy on Fast DDS.
    Ros2(Distro),
    /// Cyclone DDS 0.10, by its C library.
    Cyclone,
    /// Cyclone DDS 11, in Python.
    Cyclone11,
    /// Fast DDS 2.9, by its C++ library.
    FastDds,
    /// dust_dds 0.16, which does not match the endpoints of any Fast DDS.
    DustDds,
    /// RustDDS 0.15.
    RustDds,
    /// Runnel.
    Runnel,
}

impl Origin {
    /// Every one but Runnel.
    pub const OTHERS: [Origin; 7] = [
        Origin::Ros2(Distro::Kilted),
        Origin::Ros2(Distro::Jazzy),
        Origin::Cyclone,
        Origin::Cyclone11,
        Origin::FastDds,
        Origin::DustDds,
        Origin::RustDds,
    ];
}

/// In lower case, as used in node names.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Ros2(Distro::Kilted) => "kilted",
            Origin::Ros2(Distro::Jazzy) => "jazzy",
            Origin::Cyclone => "cyclone",
            Origin::Cyclone11 => "cyclone11",
            Origin::FastDds => "fastdds",
            Origin::DustDds => "dustdds",
            Origin::RustDds => "rustdds",
            Origin::Runnel => "runnel",
        })
    }
}

/// A ROS 2 domain for programs, isolated from other domains, and a folder for their files, which is removed with this
/// value.
pub struct Ros2Graph {
    domain: u16,
    home: TempDir,
    /// Variables that override the default environment.
    variables: Vec<(&'static str, String)>,
}

impl Ros2Graph {
    /// A graph in a domain that is unique in this process.
    ///
    /// # Panics
    /// If the network is not private to the tests.
    pub fn new() -> Ros2Graph {
        /// The ports of these domains are below those that tests use otherwise.
        const DOMAINS: u16 = 50;
        static MADE: AtomicU16 = AtomicU16::new(0);
        Ros2Graph::in_domain(1 + MADE.fetch_add(1, Ordering::Relaxed) % DOMAINS)
    }

    /// A graph in a domain that may be shared.
    ///
    /// # Panics
    /// If the network is not private to the tests.
    pub fn in_domain(domain: u16) -> Ros2Graph {
        require_private_network();
        let home = TempDir::with_prefix("runnel-interop-").expect("a temporary folder");
        fs::create_dir(home.path().join("shm")).expect("a folder for /dev/shm");
        Ros2Graph { domain, home, variables: Vec::new() }
    }

    /// Sets a variable for programs started from now on.
    #[must_use]
    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Ros2Graph {
        self.variables.push((variable, value.into()));
        self
    }

    /// Options of a context of this process in this domain, and in no other graph.
    pub fn options(&self) -> ContextOptions {
        ContextOptions::default()
            .signals(false)
            .arguments([""; 0])
            .graphs(Graphs::Ros2)
            .domain_id(self.domain)
    }

    /// A context with these options.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn context(&self) -> Context {
        Context::with_options(self.options()).expect("a context")
    }

    /// The number of the domain.
    pub fn domain(&self) -> u16 {
        self.domain
    }

    /// The home and log folder of the programs.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Starts `peers/rclpy/SCRIPT` as node `/NAME`.
    pub fn rclpy(&self, distro: Distro, script: &str, name: &str, arguments: &[&str]) -> Peer {
        let line = rclpy(distro, script, name, arguments);
        let mut command = self.command(&line[0]);
        command.args(&line[1..]);
        start(&format!("{script} {name}"), command)
    }

    /// Starts the talker of `origin` as node `/ORIGIN_talker`. It waits for `--wait N` subscriptions (1), publishes
    /// `--count N` messages (0: without end) of `--type T` at `--rate HZ` (0: at once) with `--size BYTES` of payload,
    /// and stays until it is signalled. `--reliability`, `--durability`, `--depth` (1000; 0 for all), `--deadline`,
    /// `--lifespan`, `--liveliness` and `--lease` set its quality of service.
    pub fn talker(&self, origin: Origin, arguments: &[&str]) -> Peer {
        self.node(origin, "talker", &format!("{origin}_talker"), arguments)
    }

    /// Starts the listener of `origin` as node `/ORIGIN_listener`. It ends after `--count N` messages (0: never) of
    /// `--type T`. Its quality of service is set as a talker's.
    pub fn listener(&self, origin: Origin, arguments: &[&str]) -> Peer {
        self.node(origin, "listener", &format!("{origin}_listener"), arguments)
    }

    /// Starts the `talker` or `listener` of `origin` as node `/NAME`, if the implementation has nodes.
    pub fn node(&self, origin: Origin, role: &str, name: &str, arguments: &[&str]) -> Peer {
        let line = command_line(origin, role, name, arguments);
        let mut command = self.command(&line[0]);
        command.args(&line[1..]);
        start(name, command)
    }

    /// Starts `peers/cyclonedds/service.c`, a program of our own on Cyclone DDS that frames services as rmw_cyclonedds
    /// does: `[SERVICE, "server"]`, `[SERVICE, "client", COUNT]`, `[SERVICE, "pair", COUNT]` or `[SERVICE, "late"]`.
    pub fn cyclone_service(&self, arguments: &[&str]) -> Peer {
        let mut command = self.command(dds::cyclone("service"));
        command.args(arguments);
        start("cyclone_service", command)
    }

    /// The file that talkers with `--after` wait for: not all readers request what was sent before they had
    /// discovered the writer.
    pub fn gate(&self) -> String {
        self.home().join("gate").display().to_string()
    }

    /// Releases the talkers that wait for the gate.
    pub fn open_gate(&self) {
        fs::write(self.gate(), "").expect("a file");
    }

    /// A command with an empty environment except for the search path, and with this graph's `/dev/shm`: network
    /// namespaces do not isolate the files of Fast DDS there, and killed programs leave them behind.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", "mount --bind \"$0\" /dev/shm && exec \"$@\""])
            .arg(self.home.path().join("shm"))
            .arg(program);
        self.surround(command)
    }

    /// The talker or listener of `origin` without the wrapper programs that isolate `/dev/shm`, for timing its start.
    ///
    /// # Panics
    /// If `origin` is not a program of its own.
    pub fn program(&self, origin: Origin, role: &str) -> Command {
        let program = match origin {
            Origin::Cyclone => dds::cyclone(role),
            Origin::FastDds => dds::fast_dds(role),
            Origin::Runnel => built(&format!("runnel_ros2_{role}")),
            _ => panic!("{origin} is a script or needs a word before the others"),
        };
        self.surround(Command::new(program))
    }

    /// Sets a command's environment.
    fn surround(&self, mut command: Command) -> Command {
        let home = self.home.path();
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs([("HOME", home), ("ROS_HOME", home), ("ROS_LOG_DIR", home)])
            .envs([("ROS_DOMAIN_ID", self.domain.to_string().as_str()), ("CYCLONEDDS_URI", CYCLONE)])
            .envs([("LANG", "C.UTF-8"), ("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1")])
            .env("RUNNEL_LINGER", LINGER)
            .envs(self.variables.iter().map(|(variable, value)| (variable, value)))
            .current_dir(home);
        command
    }
}

impl Default for Ros2Graph {
    fn default() -> Ros2Graph {
        Ros2Graph::new()
    }
}

/// The program of `origin` with this role, and its arguments, including the node name `/NAME` if it has nodes.
pub(crate) fn command_line(origin: Origin, role: &str, name: &str, arguments: &[&str]) -> Vec<OsString> {
    let renamed = ["--ros-args".to_owned(), "-r".to_owned(), format!("__node:={name}")];
    match origin {
        Origin::Ros2(distro) => rclpy(distro, &format!("{role}.py"), name, arguments),
        Origin::Cyclone => line(dds::cyclone(role), arguments),
        Origin::Cyclone11 => {
            let script = sources().join("cyclonedds11").join(role).with_extension("py");
            [line(environment("cyclonedds11"), &[script]), words(arguments)].concat()
        }
        Origin::FastDds => line(dds::fast_dds(role), arguments),
        Origin::DustDds => [line(dds::crate_of("dust"), &[role]), words(arguments)].concat(),
        Origin::RustDds => [line(dds::crate_of("rust"), &[role]), words(arguments)].concat(),
        Origin::Runnel => [line(built(&format!("runnel_ros2_{role}")), arguments), words(&renamed)].concat(),
    }
}

fn rclpy(distro: Distro, script: &str, name: &str, arguments: &[&str]) -> Vec<OsString> {
    let script = [sources().join("rclpy").join(script)];
    let renamed = ["--ros-args".to_owned(), "-r".to_owned(), format!("__node:={name}")];
    [line(python(distro), &script), words(arguments), words(&renamed)].concat()
}

fn line(program: PathBuf, arguments: &[impl AsRef<OsStr>]) -> Vec<OsString> {
    [vec![program.into_os_string()], words(arguments)].concat()
}

fn words(all: &[impl AsRef<OsStr>]) -> Vec<OsString> {
    all.iter().map(|word| word.as_ref().to_owned()).collect()
}
