//! `RUNNEL_IPC_DIR`: a folder through which containers with private networks find each other.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use interop::containers::{Container, Exchange, Network};
use interop::{TIMEOUT, outcome, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};
use tempfile::TempDir;

const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// Two containers with private networks, their master, and the folder that they share as `/mnt/mine` and
/// `/mnt/yours`.
struct Hosts {
    // Declared first: ends before the folder is removed.
    containers: [Container; 2],
    _master: Peer,
    folder: TempDir,
}

impl Hosts {
    /// Starts the containers. `inside` are the mount points of the folder, with `:ro` if read-only; `configured` are
    /// the values of `RUNNEL_IPC_DIR`.
    fn new(inside: [&str; 2], configured: [&str; 2]) -> Hosts {
        let folder = TempDir::with_prefix("runnel-ipc-").unwrap();
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        let containers = [0, 1].map(|index| {
            Container::start(Network::Own, &[(&shared, inside[index])])
                .with("ROS_IP", ADDRESSES[index])
                .with("ROS_MASTER_URI", format!("http://{}:11311", ADDRESSES[0]))
                .with("RUNNEL_IPC_DIR", configured[index])
        });
        Container::join(&containers[0], &containers[1], ADDRESSES);
        let master = containers[0].runnel("runnel", &["master", "--no-rosout", "--host", ADDRESSES[0]]);
        wait_until("the master answers", deadline_in(TIMEOUT), || {
            outcome(containers[1].runnel("runnel", &["node", "list", "--ros1"])).code == Some(0)
        });
        Hosts { containers, _master: master, folder }
    }

    fn exchange(&self) -> Exchange<'_> {
        Exchange::between(&self.containers[0], &self.containers[1])
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
fn shared_folder_connects_containers() {
    let hosts = Hosts::new(["/mnt/mine", "/mnt/yours"], ["/mnt/mine", "/mnt/yours"]);
    let mut exchange = hosts.exchange();
    exchange.expect_shared_memory();
    assert!(exchange.warnings().is_empty(), "{:?}", exchange.warnings());
}

#[test]
fn folder_configured_on_one_side_is_unused() {
    for configured in [["/mnt/mine", ""], ["", "/mnt/yours"]] {
        let hosts = Hosts::new(["/mnt/mine", "/mnt/yours"], configured);
        let mut exchange = hosts.exchange();
        exchange.expect_network();
        assert!(exchange.warnings().is_empty(), "{:?}", exchange.warnings());
    }
}

/// Checks that a talker with an unusable folder logs that once.
fn check_useless_folder(inside: &str, configured: &str, why: &str, prepare: impl FnOnce(&Hosts)) {
    let hosts = Hosts::new([inside, "/mnt/yours"], [configured, "/mnt/yours"]);
    prepare(&hosts);
    let mut exchange = hosts.exchange();
    exchange.expect_network();
    let warnings = exchange.warnings();
    let [warning] = warnings.as_slice() else { panic!("{warnings:#?}") };
    assert!(warning.contains(&format!("RUNNEL_IPC_DIR={configured}")) && warning.contains(why), "{warning}");
}

#[test]
fn missing_folder_is_reported() {
    check_useless_folder("/mnt/mine", "/mnt/nowhere", "No such file", |_| {});
}

#[test]
fn unwritable_folder_is_reported() {
    check_useless_folder("/mnt/mine:ro", "/mnt/mine", "Read-only", |_| {});
}

#[test]
fn file_as_folder_is_reported() {
    check_useless_folder("/mnt/mine", "/mnt/mine/file", "not a folder", |hosts| {
        fs::write(hosts.shared().join("file"), "").unwrap();
    });
}

#[test]
fn overlong_folder_path_is_reported() {
    let deep = "a_folder_with_a_long_name/and_another_one_with_a_name_so_long/in_it";
    check_useless_folder("/mnt/mine", &format!("/mnt/mine/{deep}"), "are allowed", |hosts| {
        fs::create_dir_all(hosts.shared().join(deep)).unwrap();
    });
}

#[test]
fn unprotected_folder_is_reported() {
    let hosts = Hosts::new(["/mnt/mine", "/mnt/yours"], ["/mnt/mine", "/mnt/yours"]);
    fs::set_permissions(hosts.shared(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut exchange = hosts.exchange();
    exchange.expect_network();
    let warnings = exchange.warnings();
    assert_eq!(warnings.len(), 2, "one for each: {warnings:#?}");
    assert!(warnings.iter().all(|warning| warning.contains("sticky")), "{warnings:#?}");
    drop(exchange);
    fs::set_permissions(hosts.shared(), fs::Permissions::from_mode(0o1777)).unwrap();
    hosts.exchange().expect_shared_memory();
}

#[test]
fn killed_process_leftovers_are_removed_at_start() {
    let hosts = Hosts::new(["/mnt/mine", "/mnt/yours"], ["/mnt/mine", "/mnt/yours"]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut exchange = hosts.exchange();
        exchange.expect_shared_memory();
        let sockets = hosts.sockets();
        assert!(sockets.iter().all(|name| is_random(name) && !seen.contains(name)), "{sockets:?} {seen:?}");
        for name in &sockets {
            let mode = fs::symlink_metadata(hosts.shared().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        // The talker and the listener; the master has no topics.
        assert_eq!(sockets.len(), 2, "{sockets:?}");
        seen.extend(sockets);
        for peer in [&mut exchange.talker, &mut exchange.listener] {
            peer.signal(Signal::KILL).unwrap();
            peer.wait_exit(deadline_in(TIMEOUT)).unwrap();
        }
        assert_eq!(hosts.sockets().len(), 2, "a killed process removes nothing");
    }
    let mut last = hosts.containers[0].runnel("runnel_listener", &["/chatter"]);
    wait_until(
        "only the last one's socket",
        deadline_in(TIMEOUT),
        || matches!(hosts.sockets().as_slice(), [name] if !seen.contains(name)),
    );
    last.signal(Signal::INT).unwrap();
    last.wait_exit(deadline_in(TIMEOUT)).unwrap();
    assert_eq!(hosts.sockets(), Vec::<String>::new(), "who ends in order takes it along");
    for container in &hosts.containers {
        assert_eq!(left_behind(container), [""; 0]);
        assert_eq!(container.run(&["ls", "-A", "/dev/shm"]), "");
    }
}

/// Files named like Runnel's in the usual folders, except for a checkout that lies there.
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

/// 128 random bits in hexadecimal digits.
fn is_random(name: &str) -> bool {
    let digits = name.strip_prefix("runnel-").unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
