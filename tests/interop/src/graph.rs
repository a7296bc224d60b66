//! Starts original programs with a master, each with its own environment.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, deadline_in};
use tempfile::TempDir;

use crate::{TIMEOUT, installed, programs, roscpp, sources};

/// Seconds that Runnel's programs wait at their end for messages that have not arrived: a peer on a busy machine may need
/// longer than the default of one second.
pub(crate) const LINGER: &str = "10";

/// Implementation of a talker or a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The original Python library.
    Rospy,
    /// The original C++ library.
    Roscpp,
    /// An independent implementation in JavaScript (the package `@foxglove/ros1`).
    Foxglove,
    /// The implementation under test: the programs in `src/bin`.
    Runnel,
}

impl Origin {
    /// Every implementation but Runnel.
    pub const OTHERS: [Origin; 3] = [Origin::Rospy, Origin::Roscpp, Origin::Foxglove];
    /// Every implementation.
    pub const ALL: [Origin; 4] = [Origin::Rospy, Origin::Roscpp, Origin::Foxglove, Origin::Runnel];
}

/// In lower case, as used in node names.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Rospy => "rospy",
            Origin::Roscpp => "roscpp",
            Origin::Foxglove => "foxglove",
            Origin::Runnel => "runnel",
        })
    }
}

/// A ROS 1 graph for original programs: the address of a master, and a folder for their files, which is removed with
/// this value.
pub struct Ros1Graph {
    master_uri: String,
    home: TempDir,
    /// Variables that override the default environment; an empty one is not set.
    variables: Vec<(&'static str, String)>,
    /// Content of `/etc/hosts` for the programs, if it differs from this system's.
    hosts: Option<&'static str>,
}

impl Ros1Graph {
    /// The graph of the master at `master_uri` (`http://127.0.0.1:PORT`).
    ///
    /// # Panics
    /// If the network is not private to the tests.
    pub fn at(master_uri: impl Into<String>) -> Ros1Graph {
        require_private_network();
        let home = TempDir::with_prefix("runnel-interop-").expect("a temporary folder");
        Ros1Graph { master_uri: master_uri.into(), home, variables: Vec::new(), hosts: None }
    }

    /// Sets a variable for programs started from now on; an empty one is unset.
    #[must_use]
    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Ros1Graph {
        self.variables.push((variable, value.into()));
        self
    }

    /// Sets the lines of `/etc/hosts` for programs started from now on.
    #[must_use]
    pub fn with_hosts(mut self, lines: &'static str) -> Ros1Graph {
        self.hosts = Some(lines);
        self
    }

    /// The address of the master.
    pub fn master_uri(&self) -> &str {
        &self.master_uri
    }

    /// The home and log folder of the programs.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Starts `peers/rospy/SCRIPT` with Debian's Python.
    pub fn rospy(&self, script: &str, arguments: &[&str]) -> Peer {
        let mut command = self.command("/usr/bin/python3");
        command.arg(sources().join("rospy").join(script)).args(arguments);
        start(script, command)
    }

    /// Starts `peers/roscpp/PROGRAM.cpp`, after building it if necessary.
    pub fn roscpp(&self, program: &str, arguments: &[&str]) -> Peer {
        let mut command = self.command(roscpp::built(program));
        command.args(arguments);
        start(program, command)
    }

    /// Starts `peers/foxglove/SCRIPT` with Node.js.
    ///
    /// # Panics
    /// If the JavaScript library is not installed.
    pub fn foxglove(&self, script: &str, arguments: &[&str]) -> Peer {
        let library = installed().join("foxglove/node_modules");
        assert!(
            library.join("@foxglove/ros1").is_dir(),
            "{} lacks @foxglove/ros1: run ./test",
            library.display()
        );
        let mut command = self.command("node");
        command.arg(sources().join("foxglove").join(script)).args(arguments).env("NODE_PATH", library);
        start(script, command)
    }

    /// Starts an installed command (`rostopic`, `rosnode`, ...).
    pub fn tool(&self, command: &str, arguments: &[&str]) -> Peer {
        let mut tool = self.command(format!("/usr/bin/{command}"));
        tool.args(arguments);
        start(command, tool)
    }

    /// Starts a program of this workspace: `runnel`, or one of `src/bin`.
    ///
    /// # Panics
    /// If it is not built.
    pub fn runnel(&self, program: &str, arguments: &[&str]) -> Peer {
        let mut command = self.command(programs::built(program));
        command.args(arguments);
        start(program, command)
    }

    /// Starts the talker of `origin` as node `/ORIGIN_talker`. It waits for `--wait N` subscribers (1), publishes
    /// `--count N` messages (0: without end) of `--type T` at `--rate HZ` (0: at once) with `--size BYTES` of
    /// payload, `--latch`ed or not, and stays until it is signalled.
    pub fn talker(&self, origin: Origin, arguments: &[&str]) -> Peer {
        self.node(origin, "talker", &format!("{origin}_talker"), arguments)
    }

    /// Starts the listener of `origin` as node `/ORIGIN_listener`. It ends after `--count N` messages (0: never) of
    /// `--type T`. `--nodelay` requests TCP_NODELAY; `--udp` requests UDPROS (roscpp: only; Runnel: preferred),
    /// roscpp's `--udp-or-tcp` prefers it.
    pub fn listener(&self, origin: Origin, arguments: &[&str]) -> Peer {
        self.node(origin, "listener", &format!("{origin}_listener"), arguments)
    }

    /// Starts the `talker` or `listener` of `origin` as node `/NAME`.
    pub fn node(&self, origin: Origin, role: &str, name: &str, arguments: &[&str]) -> Peer {
        let name = format!("__name:={name}");
        let arguments = [arguments, &[name.as_str()]].concat();
        match origin {
            Origin::Rospy => self.rospy(&format!("{role}.py"), &arguments),
            Origin::Roscpp => self.roscpp(role, &arguments),
            Origin::Foxglove => self.foxglove(&format!("{role}.mjs"), &arguments),
            Origin::Runnel => self.runnel(&format!("runnel_{role}"), &arguments),
        }
    }

    /// A ROS 2 domain for commands that search both graphs, distinct from those of [`crate::ros2::Ros2Graph`]. Each
    /// master has its own port, so that two graphs rarely share a domain.
    fn domain(&self) -> String {
        let port =
            self.master_uri.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        let port: u16 = port.unwrap_or_default();
        (51 + port % 49).to_string()
    }

    /// A command with an empty environment except for the search path.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let home = self.home.path();
        let mut command = match self.hosts {
            None => Command::new(program),
            Some(lines) => with_hosts(&home.join("hosts"), lines, program.as_ref()),
        };
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs([("HOME", home), ("ROS_HOME", home), ("ROS_LOG_DIR", home)])
            .envs([
                ("ROS_MASTER_URI", self.master_uri.as_str()),
                ("ROS_IP", "127.0.0.1"),
                ("LANG", "C.UTF-8"),
                ("ROS_DOMAIN_ID", self.domain().as_str()),
            ])
            .envs([("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1"), ("RUNNEL_LINGER", LINGER)])
            .current_dir(home);
        for (variable, value) in &self.variables {
            match value.as_str() {
                "" => command.env_remove(variable),
                value => command.env(variable, value),
            };
        }
        command
    }
}

/// A command with its own lines in `/etc/hosts`.
fn with_hosts(path: &Path, lines: &str, program: &OsStr) -> Command {
    fs::write(path, lines).expect("a file for /etc/hosts");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""])
        .arg(path)
        .arg(program);
    command
}

pub(crate) fn start(name: &str, command: Command) -> Peer {
    Peer::spawn(name, command).unwrap_or_else(|error| panic!("{error}"))
}

/// Waits until a master accepts connections.
pub(crate) fn await_master(process: &mut Peer, port: u16) {
    let deadline = deadline_in(TIMEOUT);
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        let pause = Instant::now() + Duration::from_millis(20);
        let ended = process.wait_exit(pause).is_ok();
        assert!(!ended && pause < deadline, "no master at port {port}; it said:\n{}", process.output());
    }
}
