//! Namespaces of the kernel that stand for containers: what is started in one has mounts of its own, is root of a
//! namespace of users, and may have a network of its own.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use runnel_testkit::process::{Peer, deadline_in};

use crate::PATIENCE;
use crate::hearing::{outcome, told, wait_until};
use crate::{checkout, programs};

/// Where a container finds the programs of this workspace.
const PROGRAMS: &str = "/mnt/programs";

/// Sets up a container. `$1` is a command that sets up its network, `$2` the folder of the programs, `$3` a folder that keeps its
/// place wherever that is; then come pairs of a folder outside and its place inside, which `:ro` follows where it may not be
/// written. Of the folders in which programs usually meet, nothing else is shared.
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

/// Which network a container has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// That of the test.
    Shared,
    /// Its own, with loopback and what [`Container::join`] makes.
    Own,
}

/// A container, which ends with this value and with it all that was started in it.
pub struct Container {
    /// Holds the namespaces.
    keeper: Peer,
    variables: Vec<(&'static str, String)>,
    /// Whether it has a namespace of users.
    has_users: bool,
    /// The command that starts its programs as another user.
    user: Vec<&'static str>,
}

impl Container {
    /// Starts one. Of each pair of `folders`, the first is seen as the second, which lies in `/mnt`; `:ro` behind it
    /// makes it read-only there.
    ///
    /// # Panics
    /// When this system refuses.
    pub fn start(network: Network, folders: &[(&Path, &str)]) -> Container {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--user", "--map-root-user"]);
        if network == Network::Shared {
            return Container::kept_by(command, "true", folders);
        }
        command.arg("--net");
        Container::kept_by(command, "ip link set lo up", folders)
    }

    /// One on the network of the test whose programs run as a user that is not that of the test. `None` if the
    /// namespace of the test has one user only and `./test` has said so, which then counts what it left out.
    ///
    /// # Panics
    /// When this system refuses, or there is one user although `./test` has said nothing.
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

    /// One on the network of the test whose users are those of the test.
    ///
    /// # Panics
    /// When this system refuses.
    pub fn that_shares_users() -> Container {
        let mut command = Command::new("unshare");
        command.arg("--mount");
        Container { has_users: false, ..Container::kept_by(command, "true", &[]) }
    }

    /// Peers and their environments are started where they lie in the checkout.
    fn kept_by(command: Command, network: &str, folders: &[(&Path, &str)]) -> Container {
        Container::that_sees(&checkout(), command, network, folders)
    }

    fn that_sees(kept: &Path, mut command: Command, network: &str, folders: &[(&Path, &str)]) -> Container {
        command.args(["sh", "-c", SETUP, "setup", network]).arg(programs::folder()).arg(kept);
        for (outside, inside) in folders {
            command.arg(outside).arg(inside);
        }
        let mut keeper = Peer::spawn("container", command).unwrap_or_else(|error| panic!("{error}"));
        keeper.wait_for_line(|line| line == "ready", deadline_in(PATIENCE)).unwrap();
        let variables =
            vec![("LANG", "C.UTF-8".to_owned()), ("HOME", "/tmp".into()), ("ROS_IP", "127.0.0.1".into())];
        Container { keeper, variables, has_users: true, user: Vec::new() }
    }

    /// Has programs started from now on see a variable.
    #[must_use]
    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Container {
        self.variables.retain(|(name, _)| *name != variable);
        self.variables.push((variable, value.into()));
        self
    }

    /// Has programs started from now on run in a namespace that knows no users: to them, everyone is nobody.
    #[must_use]
    pub fn that_knows_no_users(mut self) -> Container {
        self.user = vec!["unshare", "--user"];
        self
    }

    /// Lays a cable between the networks of two containers, which have these addresses at its ends.
    ///
    /// # Panics
    /// When this system refuses.
    pub fn join(one: &Container, other: &Container, addresses: [&str; 2]) {
        Container::lay_cable(one, other, "cable");
        for (container, address) in [one, other].into_iter().zip(addresses) {
            container.set_network(&["address", "add", &format!("{address}/24"), "dev", "cable"]);
            container.set_network(&["link", "set", "cable", "up"]);
        }
    }

    /// Lays a cable of this name between the networks of two containers, and leaves both ends as they are made.
    ///
    /// # Panics
    /// When this system refuses.
    pub fn lay_cable(one: &Container, other: &Container, name: &str) {
        let there = other.keeper.id().to_string();
        one.set_network(&["link", "add", name, "type", "veth", "peer", "name", name, "netns", &there]);
    }

    /// The process that holds the namespaces.
    pub fn keeper(&self) -> u32 {
        self.keeper.id()
    }

    /// Starts a command line.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_in(&self, name: &str, line: &[impl AsRef<OsStr>]) -> Peer {
        let mut command = self.entering();
        command.args(line);
        Peer::spawn(name, command).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts a program of this workspace.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn runnel(&self, program: &str, arguments: &[&str]) -> Peer {
        let path = format!("{PROGRAMS}/{program}");
        let mut command = self.entering();
        command.args(&self.user).arg(path).args(arguments);
        Peer::spawn(program, command).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What the nodes of a graph that this container takes part in say of their links: the topic of each and how its
    /// messages travel. Empty for a node that is not there yet.
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

    /// Runs `ip` in the network of this container as root of the test, who may do so in all of them.
    ///
    /// # Panics
    /// When it fails.
    pub fn set_network(&self, words: &[&str]) {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.keeper.id().to_string(), "--net", "ip"]).args(words);
        finish(command);
    }

    /// Runs a command of the system to its end, and gives what it printed.
    ///
    /// # Panics
    /// When it fails.
    pub fn run(&self, words: &[&str]) -> String {
        let mut command = self.entering();
        command.args(words);
        finish(command)
    }

    /// A command that runs inside the words that are added to it.
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

/// Runs a command to its end, and gives what it printed.
fn finish(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let [said, complaint] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{command:?}: {complaint}");
    said.into_owned()
}

/// A user that is not root, and what makes a program run as that.
pub const OTHER_USER: u64 = 1000;
const BECOME_OTHER: [&str; 4] = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"];

/// A talker in one container and a listener in another, in a graph that both take part in.
pub struct Talk<'a> {
    near: &'a Container,
    far: &'a Container,
    /// Publishes `/chatter` without end.
    pub talker: Peer,
    /// Prints all that it hears of that.
    pub listener: Peer,
}

impl<'a> Talk<'a> {
    /// Starts both.
    pub fn between(near: &'a Container, far: &'a Container) -> Talk<'a> {
        Talk::at_rate(near, far, 200)
    }

    /// The same with so many messages a second.
    pub fn at_rate(near: &'a Container, far: &'a Container, rate: u32) -> Talk<'a> {
        let listener = far.runnel("runnel_listener", &["/chatter", "__name:=listener"]);
        let rate = rate.to_string();
        let talker = near.runnel("runnel_talker", &["/chatter", "--rate", &rate, "__name:=talker"]);
        Talk { near, far, talker, listener }
    }

    /// Hears the next so many messages as they were sent, none of them lost or doubled since the first.
    ///
    /// # Panics
    /// When they are not.
    pub fn hear(&mut self, count: usize) {
        let sent = told(&mut self.talker, "sent", count, deadline_in(PATIENCE));
        let heard = told(&mut self.listener, "got", count, deadline_in(PATIENCE));
        let other = heard.iter().zip(&sent).position(|(heard, sent)| heard != sent).map(|place| {
            let row = |lines: &[String]| {
                lines[place.saturating_sub(2)..].iter().take(6).cloned().collect::<Vec<_>>()
            };
            (row(&sent), row(&heard))
        });
        assert_eq!(other, None, "what was sent, and what was heard: {:?}", self.warnings());
    }

    /// Hears messages until their link goes by shared memory, and then some more.
    ///
    /// # Panics
    /// When it does not.
    pub fn goes_by_memory(&mut self) {
        self.hear(10);
        wait_until("the link in shared memory", deadline_in(PATIENCE), || {
            self.transports().iter().all(|transport| transport == "SHM")
        });
        self.hear(50);
    }

    /// Hears messages, and still does so over the network.
    ///
    /// # Panics
    /// When it does not.
    pub fn stays_on_network(&mut self) {
        for count in [50, 100] {
            self.hear(count);
            assert_eq!(self.transports(), ["TCPROS", "TCPROS"]);
        }
    }

    /// How the messages travel, as either end says.
    fn transports(&self) -> [String; 2] {
        [(self.near, "/talker"), (self.far, "/listener")].map(|(container, node)| {
            let links = container.links(node).into_iter().filter(|(topic, _)| topic == "/chatter");
            links.map(|(_, transport)| transport).collect()
        })
    }

    /// What both have warned of.
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
