//! `RUNNEL_IPC_DIR`: a folder by which containers with networks of their own find each other.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use interop::containers::{Container, Network, Talk};
use interop::{PATIENCE, outcome, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};
use tempfile::TempDir;

const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// Two containers with networks of their own, the master of both, and the folder that they share as `/mnt/mine` and
/// `/mnt/yours`.
struct Hosts {
    // Ends before the folder does.
    containers: [Container; 2],
    _master: Peer,
    folder: TempDir,
}

impl Hosts {
    /// The containers see their folder as this, with `:ro` for one that cannot be written, and are told of that.
    fn new(inside: [&str; 2], told: [&str; 2]) -> Hosts {
        let folder = TempDir::with_prefix("runnel-ipc-").unwrap();
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        let containers = [0, 1].map(|index| {
            Container::start(Network::Own, &[(&shared, inside[index])])
                .with("ROS_IP", ADDRESSES[index])
                .with("ROS_MASTER_URI", format!("http://{}:11311", ADDRESSES[0]))
                .with("RUNNEL_IPC_DIR", told[index])
        });
        Container::join(&containers[0], &containers[1], ADDRESSES);
        let master = containers[0].runnel("runnel", &["master", "--no-rosout", "--host", ADDRESSES[0]]);
        wait_until("the master answers", deadline_in(PATIENCE), || {
            outcome(containers[1].runnel("runnel", &["node", "list", "--ros1"])).code == Some(0)
        });
        Hosts { containers, _master: master, folder }
    }

    fn talk(&self) -> Talk<'_> {
        Talk::between(&self.containers[0], &self.containers[1])
    }

    fn shared(&self) -> PathBuf {
        self.folder.path().join("shared")
    }

    fn sockets(&self) -> Vec<String> {
        names(&self.shared())
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_joins_containers_that_share_nothing_else() {
    let hosts = Hosts::new(["/mnt/mine", "/mnt/yours"], ["/mnt/mine", "/mnt/yours"]);
    let mut talk = hosts.talk();
    talk.goes_by_memory();
    assert!(talk.warnings().is_empty(), "{:?}", talk.warnings());
}

#[test]
fn a_folder_that_one_only_is_told_of_joins_nobody() {
    for told in [["/mnt/mine", ""], ["", "/mnt/yours"]] {
        let hosts = Hosts::new(["/mnt/mine", "/mnt/yours"], told);
        let mut talk = hosts.talk();
        talk.stays_on_network();
        assert!(talk.warnings().is_empty(), "{:?}", talk.warnings());
    }
}

/// The talker is told of a folder that is of no use, and says so once.
fn of_no_use(inside: &str, told: &str, why: &str, prepare: impl FnOnce(&Hosts)) {
    let hosts = Hosts::new([inside, "/mnt/yours"], [told, "/mnt/yours"]);
    prepare(&hosts);
    let mut talk = hosts.talk();
    talk.stays_on_network();
    let warnings = talk.warnings();
    let [warning] = warnings.as_slice() else { panic!("{warnings:#?}") };
    assert!(warning.contains(&format!("RUNNEL_IPC_DIR={told}")) && warning.contains(why), "{warning}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    of_no_use("/mnt/mine", "/mnt/nowhere", "No such file", |_| {});
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    of_no_use("/mnt/mine:ro", "/mnt/mine", "Read-only", |_| {});
}

#[test]
fn a_folder_that_is_a_file_is_named() {
    of_no_use("/mnt/mine", "/mnt/mine/file", "not a folder", |hosts| {
        fs::write(hosts.shared().join("file"), "").unwrap();
    });
}

#[test]
fn a_folder_whose_path_is_too_long_for_a_socket_is_named() {
    let deep = "a_folder_with_a_long_name/and_another_one_with_a_name_so_long/in_it";
    of_no_use("/mnt/mine", &format!("/mnt/mine/{deep}"), "are allowed", |hosts| {
        fs::create_dir_all(hosts.shared().join(deep)).unwrap();
    });
}

#[test]
fn a_folder_from_which_everyone_may_remove_files_is_named() {
    let hosts = Hosts::new(["/mnt/mine", "/mnt/yours"], ["/mnt/mine", "/mnt/yours"]);
    fs::set_permissions(hosts.shared(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut talk = hosts.talk();
    talk.stays_on_network();
    let warnings = talk.warnings();
    assert_eq!(warnings.len(), 2, "one for each: {warnings:#?}");
    assert!(warnings.iter().all(|warning| warning.contains("sticky")), "{warnings:#?}");
    drop(talk);
    fs::set_permissions(hosts.shared(), fs::Permissions::from_mode(0o1777)).unwrap();
    hosts.talk().goes_by_memory();
}

#[test]
fn what_was_killed_leaves_nothing_behind_the_next_start() {
    let hosts = Hosts::new(["/mnt/mine", "/mnt/yours"], ["/mnt/mine", "/mnt/yours"]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut talk = hosts.talk();
        talk.goes_by_memory();
        let sockets = hosts.sockets();
        assert!(sockets.iter().all(|name| is_random(name) && !seen.contains(name)), "{sockets:?} {seen:?}");
        for name in &sockets {
            let mode = fs::symlink_metadata(hosts.shared().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        // The talker and the listener; the master has no topics.
        assert_eq!(sockets.len(), 2, "{sockets:?}");
        seen.extend(sockets);
        for peer in [&mut talk.talker, &mut talk.listener] {
            peer.signal(Signal::KILL).unwrap();
            peer.wait_exit(deadline_in(PATIENCE)).unwrap();
        }
        assert_eq!(hosts.sockets().len(), 2, "a killed process removes nothing");
    }
    let mut last = hosts.containers[0].runnel("runnel_listener", &["/chatter"]);
    wait_until(
        "only the last one's socket",
        deadline_in(PATIENCE),
        || matches!(hosts.sockets().as_slice(), [name] if !seen.contains(name)),
    );
    last.signal(Signal::INT).unwrap();
    last.wait_exit(deadline_in(PATIENCE)).unwrap();
    assert_eq!(hosts.sockets(), Vec::<String>::new(), "who ends in order takes it along");
    for container in &hosts.containers {
        assert_eq!(left_behind(container), [""; 0]);
        assert_eq!(container.run(&["ls", "-A", "/dev/shm"]), "");
    }
}

/// What is named like Runnel in the folders in which programs meet, but for a checkout that lies in one of them.
fn left_behind(container: &Container) -> Vec<String> {
    let checkout = interop::checkout();
    let within = checkout.to_str().expect("UTF-8");
    let found = container.run(
        &[
            ["find", "/dev/shm", "/run", "/tmp", "-path", within, "-prune"].as_slice(),
            &["-o", "-name", "*unnel*", "-not", "-path", "*/log/*", "-print"],
        ]
        .concat(),
    );
    found.lines().filter(|path| !checkout.starts_with(path)).map(str::to_owned).collect()
}

/// 128 bits in hexadecimal digits, which nobody guesses.
fn is_random(name: &str) -> bool {
    let digits = name.strip_prefix("runnel-").unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
