//! Kernel namespaces that simulate containers: each has its own mounts, is root of a user namespace, and may have its
//! own network.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use runnel_testkit::process::{Peer, deadline_in};

use crate::TIMEOUT;
use crate::checks::{next_messages, outcome, wait_until};
use crate::{checkout, programs};

/// Path of this workspace's programs in a container.
const PROGRAMS: &str = "/mnt/programs";

/// Sets up a container. `$1` is a command that sets up its network, `$2` the folder of the programs, `$3` a folder
/// that keeps its path. Then follow pairs of an outside folder and its path inside, with `:ro` appended if it is
/// read-only. Nothing else is shared of the folders in which programs usually find each other.
const SETUP: &str = r#"set -e
$1
shift
mount -t tmpfs tmpfs /mnt
mkdir /mnt/programs /mnt/kept
mount --bind "$1" /mnt/programs
mount --bind "$2" /mnt/kept
kept=$2
shift 2
while [ $# -gt 0 ]; do
  inside=${2%:ro}
  mkdir "$inside"
  mount --bind "$1" "$inside"
  [ "$inside" = "$2" ] || mount -o remount,bind,ro "$inside"
  shift 2
done
for folder in /tmp /run /dev/shm; do mount -t tmpfs tmpfs "$folder"; done
case $kept in
  /tmp/* | /run/*) mkdir -p "$kept" && mount --bind /mnt/kept "$kept" ;;
esac
umount /mnt/kept
echo ready
exec sleep infinity"#;

/// Network of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// The network of the test.
    Shared,
    /// A private network, with loopback and the cables of [`Container::join`].
    Own,
}

/// A container; dropping it ends all its processes.
pub struct Container {
    /// The process that holds the namespaces.
    keeper: Peer,
    variables: Vec<(&'static str, String)>,
    /// Whether it has a user namespace.
    has_users: bool,
    /// The command that starts its programs as another user.
    user: Vec<&'static str>,
}

impl Container {
    /// Starts a container. Of each pair in `folders`, the first is mounted as the second, which is in `/mnt`; the
    /// suffix `:ro` makes it read-only.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn start(network: Network, folders: &[(&Path, &str)]) -> Container {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--user", "--map-root-user"]);
        if network == Network::Shared {
            return Container::kept_by(command, "true", folders);
        }
        command.arg("--net");
        Container::kept_by(command, "ip link set lo up", folders)
    }

    /// A container on the test's network whose programs run as another user than the test. `None` if the test's
    /// namespace has only one user and `./test` has announced so; it then counts the skipped checks.
    ///
    /// # Panics
    /// If this system refuses, or there is only one user although `./test` has not announced so.
    pub fn of_other_user() -> Option<Container> {
        let users =
            std::fs::read_to_string("/proc/self/uid_map").expect("/proc shows the users of this namespace");
        let is_there = |range: &str| {
            let numbers: Vec<u64> =
                range.split_whitespace().filter_map(|number| number.parse().ok()).collect();
            numbers[0] <= OTHER_USER && OTHER_USER < numbers[0] + numbers[2]
        };
        if users.lines().any(is_there) {
            return Some(Container { user: BECOME_OTHER.to_vec(), ..Container::that_shares_users() });
        }
        let is_known = std::env::var_os("RUNNEL_TEST_ONE_USER").is_some();
        assert!(is_known, "this namespace has one user: ./test, run by root, makes one with more");
        None
    }

    /// A container on the test's network with the test's users.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn that_shares_users() -> Container {
        let mut command = Command::new("unshare");
        command.arg("--mount");
        Container { has_users: false, ..Container::kept_by(command, "true", &[]) }
    }

    /// Peers and their environments are started from the checkout's own path.
    fn kept_by(command: Command, network: &str, folders: &[(&Path, &str)]) -> Container {
        Container::that_sees(&checkout(), command, network, folders)
    }

    fn that_sees(kept: &Path, mut command: Command, network: &str, folders: &[(&Path, &str)]) -> Container {
        command.args(["sh", "-c", SETUP, "setup", network]).arg(programs::folder()).arg(kept);
        for (outside, inside) in folders {
            command.arg(outside).arg(inside);
        }
        let mut keeper = Peer::spawn("container", command).unwrap_or_else(|error| panic!("{error}"));
        keeper.wait_for_line(|line| line == "ready", deadline_in(TIMEOUT)).unwrap();
        let variables =
            vec![("LANG", "C.UTF-8".to_owned()), ("HOME", "/tmp".into()), ("ROS_IP", "127.0.0.1".into())];
        Container { keeper, variables, has_users: true, user: Vec::new() }
    }

    /// Sets a variable for programs started from now on.
    #[must_use]
    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Container {
        self.variables.retain(|(name, _)| *name != variable);
        self.variables.push((variable, value.into()));
        self
    }

    /// Runs programs started from now on in a user namespace without a mapping: every user is `nobody` to them.
    #[must_use]
    pub fn that_knows_no_users(mut self) -> Container {
        self.user = vec!["unshare", "--user"];
        self
    }

    /// Adds a cable between the networks of two containers, with these addresses at its ends.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn join(one: &Container, other: &Container, addresses: [&str; 2]) {
        Container::lay_cable(one, other, "cable");
        for (container, address) in [one, other].into_iter().zip(addresses) {
            container.set_network(&["address", "add", &format!("{address}/24"), "dev", "cable"]);
            container.set_network(&["link", "set", "cable", "up"]);
        }
    }

    /// Adds a cable with this name between the networks of two containers, and does not configure its ends.
    ///
    /// # Panics
    /// If this system refuses.
    pub fn lay_cable(one: &Container, other: &Container, name: &str) {
        let there = other.keeper.id().to_string();
        one.set_network(&["link", "add", name, "type", "veth", "peer", "name", name, "netns", &there]);
    }

    /// Process id of the namespaces' holder.
    pub fn keeper(&self) -> u32 {
        self.keeper.id()
    }

    /// Starts a command line.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start_in(&self, name: &str, line: &[impl AsRef<OsStr>]) -> Peer {
        let mut command = self.entering();
        command.args(line);
        Peer::spawn(name, command).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts a program of this workspace.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn runnel(&self, program: &str, arguments: &[&str]) -> Peer {
        let path = format!("{PROGRAMS}/{program}");
        let mut command = self.entering();
        command.args(&self.user).arg(path).args(arguments);
        Peer::spawn(program, command).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The links of a node as it reports them: topic and transport of each. Empty if the node does not exist yet.
    pub fn links(&self, node: &str) -> Vec<(String, String)> {
        let info = outcome(self.runnel("runnel", &["node", "info", "--ros1", node]));
        let mut links = Vec::new();
        for line in info.lines {
            match line.trim_start_matches([' ', '*']).split_once(": ") {
                Some(("topic", topic)) => links.push((topic.to_owned(), String::new())),
                Some(("transport", transport)) => {
                    links.last_mut().expect("a topic").1 = transport.to_owned();
                }
                _ => {}
            }
        }
        links
    }

    /// Runs `ip` in the network of this container as the test's root, who has access to all of them.
    ///
    /// # Panics
    /// If it fails.
    pub fn set_network(&self, words: &[&str]) {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.keeper.id().to_string(), "--net", "ip"]).args(words);
        finish(command);
    }

    /// Runs a system command to its end, and returns its output.
    ///
    /// # Panics
    /// If it fails.
    pub fn run(&self, words: &[&str]) -> String {
        let mut command = self.entering();
        command.args(words);
        finish(command)
    }

    /// A command prefix that runs the appended command inside the container.
    fn entering(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.keeper.id().to_string(), "--mount", "--net"]);
        if self.has_users {
            command.args(["--user", "--preserve-credentials"]);
        }
        let path = std::env::var_os("PATH").map(|path| ("PATH", path));
        command.env_clear().envs(path).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Runs a command to its end, and returns its output.
fn finish(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{command:?}: {stderr}");
    stdout.into_owned()
}

/// A non-root user, and the command that switches to it.
pub const OTHER_USER: u64 = 1000;
const BECOME_OTHER: [&str; 4] = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"];

/// A talker in one container and a listener in another, in a graph of both.
pub struct Exchange<'a> {
    near: &'a Container,
    far: &'a Container,
    /// Publishes `/chatter` without end.
    pub talker: Peer,
    /// Prints all messages that it receives.
    pub listener: Peer,
}

impl<'a> Exchange<'a> {
    /// Starts both.
    pub fn between(near: &'a Container, far: &'a Container) -> Exchange<'a> {
        Exchange::at_rate(near, far, 200)
    }

    /// Starts both with this many messages per second.
    pub fn at_rate(near: &'a Container, far: &'a Container, rate: u32) -> Exchange<'a> {
        let listener = far.runnel("runnel_listener", &["/chatter", "__name:=listener"]);
        let rate = rate.to_string();
        let talker = near.runnel("runnel_talker", &["/chatter", "--rate", &rate, "__name:=talker"]);
        Exchange { near, far, talker, listener }
    }

    /// Checks that the next `count` messages are received as sent, without loss or duplicates.
    ///
    /// # Panics
    /// If they are not.
    pub fn receive(&mut self, count: usize) {
        let sent = next_messages(&mut self.talker, "sent", count, deadline_in(TIMEOUT));
        let received = next_messages(&mut self.listener, "got", count, deadline_in(TIMEOUT));
        let other = received.iter().zip(&sent).position(|(received, sent)| received != sent).map(|place| {
            let row = |lines: &[String]| {
                lines[place.saturating_sub(2)..].iter().take(6).cloned().collect::<Vec<_>>()
            };
            (row(&sent), row(&received))
        });
        assert_eq!(other, None, "first difference between sent and received: {:?}", self.warnings());
    }

    /// Receives messages until the link uses shared memory, and then some more.
    ///
    /// # Panics
    /// If it does not.
    pub fn expect_shared_memory(&mut self) {
        self.receive(10);
        wait_until("the link in shared memory", deadline_in(TIMEOUT), || {
            self.transports().iter().all(|transport| transport == "SHM")
        });
        self.receive(50);
    }

    /// Receives messages, and checks that the link still uses the network.
    ///
    /// # Panics
    /// If it does not.
    pub fn expect_network(&mut self) {
        for count in [50, 100] {
            self.receive(count);
            assert_eq!(self.transports(), ["TCPROS", "TCPROS"]);
        }
    }

    /// Transport of the link, as reported by both ends.
    fn transports(&self) -> [String; 2] {
        [(self.near, "/talker"), (self.far, "/listener")].map(|(container, node)| {
            let links = container.links(node).into_iter().filter(|(topic, _)| topic == "/chatter");
            links.map(|(_, transport)| transport).collect()
        })
    }

    /// The warnings of both.
    pub fn warnings(&self) -> Vec<String> {
        let lines = [self.talker.lines(), self.listener.lines()].concat();
        lines.into_iter().filter(|line| line.starts_with('[')).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkout_below_tmp_keeps_its_place_in_a_container() {
        let folder = tempfile::TempDir::with_prefix("runnel-checkout-").expect("a folder in /tmp");
        let other = tempfile::TempDir::with_prefix("runnel-other-").expect("a folder in /tmp");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--user", "--map-root-user", "--net"]);
        let container = Container::that_sees(folder.path(), command, "true", &[]);
        std::fs::write(folder.path().join("program"), "here").expect("a file");
        let path = folder.path().join("program");
        assert_eq!(container.run(&["cat", path.to_str().expect("UTF-8")]), "here");
        let listed = container.run(&["ls", "/tmp"]);
        let hidden = other.path().file_name().and_then(OsStr::to_str).expect("UTF-8");
        assert!(!listed.contains(hidden), "{listed}");
    }
}
