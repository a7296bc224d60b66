//! ROS 2, and programs of others that speak its wire, as peers: the talkers and listeners of `peers/`, each domain with
//! an environment of its own.
//!
//! All talkers and listeners take the same words and print the same lines, as far as what they are made with goes.

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
use crate::graph::start;
use crate::programs::built;
use crate::sources;

pub use crate::distros::Distro;

/// Keeps Cyclone DDS on loopback.
const CYCLONE: &str = "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/>\
                       </Interfaces></General></Domain></CycloneDDS>";

/// What a talker or a listener is made with.
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
    /// dust_dds 0.16, which makes nothing of the endpoints of any Fast DDS.
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

/// In lower case, fit for a part of a node's name.
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

/// A domain of ROS 2 to start programs in, which meet nobody in another one, and a folder for what they write, which goes
/// with this value.
pub struct Ros2Graph {
    domain: u16,
    home: TempDir,
    /// Variables that differ from those which programs get otherwise.
    variables: Vec<(&'static str, String)>,
}

impl Ros2Graph {
    /// A graph in a domain that no other one of this process has.
    ///
    /// # Panics
    /// Where the network is not private to the tests.
    pub fn new() -> Ros2Graph {
        /// The ports of these are below those that tests take otherwise.
        const DOMAINS: u16 = 50;
        static MADE: AtomicU16 = AtomicU16::new(0);
        Ros2Graph::in_domain(1 + MADE.fetch_add(1, Ordering::Relaxed) % DOMAINS)
    }

    /// A graph in a domain, which others may be in, too.
    ///
    /// # Panics
    /// Where the network is not private to the tests.
    pub fn in_domain(domain: u16) -> Ros2Graph {
        require_private_network();
        let home = TempDir::with_prefix("runnel-interop-").expect("a temporary folder");
        fs::create_dir(home.path().join("shm")).expect("a folder for /dev/shm");
        Ros2Graph { domain, home, variables: Vec::new() }
    }

    /// Has programs started from now on see a variable.
    #[must_use]
    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Ros2Graph {
        self.variables.push((variable, value.into()));
        self
    }

    /// How a context of Runnel in this process is made to be in this domain, and in no graph beside it.
    pub fn options(&self) -> ContextOptions {
        ContextOptions::default()
            .signals(false)
            .arguments([""; 0])
            .graphs(Graphs::Ros2)
            .domain_id(self.domain)
    }

    /// Such a context.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn context(&self) -> Context {
        Context::with_options(self.options()).expect("a context")
    }

    /// The number of the domain.
    pub fn domain(&self) -> u16 {
        self.domain
    }

    /// The folder that programs take for their home and write their logs to.
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

    /// Starts the `talker` or `listener` of `origin` as node `/NAME`, if it knows nodes.
    pub fn node(&self, origin: Origin, role: &str, name: &str, arguments: &[&str]) -> Peer {
        let line = command_line(origin, role, name, arguments);
        let mut command = self.command(&line[0]);
        command.args(&line[1..]);
        start(name, command)
    }

    /// The file that talkers wait for which have it behind `--after`: not all readers ask for what was sent before they
    /// had found the writer.
    pub fn gate(&self) -> String {
        self.home().join("gate").display().to_string()
    }

    /// Has talkers publish that wait for this.
    pub fn open_gate(&self) {
        fs::write(self.gate(), "").expect("a file");
    }

    /// A command with nothing of the user's environment but the search path, and with a `/dev/shm` of this graph:
    /// network namespaces do not keep apart what Fast DDS puts there, and what is killed leaves it behind.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", "mount --bind \"$0\" /dev/shm && exec \"$@\""])
            .arg(self.home.path().join("shm"))
            .arg(program);
        self.surround(command)
    }

    /// The talker or listener of `origin` without the programs between that keep `/dev/shm` apart: where its start is timed.
    ///
    /// # Panics
    /// For origins that are no programs of their own.
    pub fn program(&self, origin: Origin, role: &str) -> Command {
        let program = match origin {
            Origin::Cyclone => dds::cyclone(role),
            Origin::FastDds => dds::fast_dds(role),
            Origin::Runnel => built(&format!("runnel_ros2_{role}")),
            _ => panic!("{origin} is a script or needs a word before the others"),
        };
        self.surround(Command::new(program))
    }

    /// Gives a command its environment.
    fn surround(&self, mut command: Command) -> Command {
        let home = self.home.path();
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs([("HOME", home), ("ROS_HOME", home), ("ROS_LOG_DIR", home)])
            .envs([("ROS_DOMAIN_ID", self.domain.to_string().as_str()), ("CYCLONEDDS_URI", CYCLONE)])
            .envs([("LANG", "C.UTF-8"), ("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1")])
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

/// The program of `origin` that has this role, and its arguments, by which it is node `/NAME` if it knows nodes.
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
