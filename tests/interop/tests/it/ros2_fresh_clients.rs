//! Fresh client processes, which start at random instants and call once each: no reply is lost.

use std::hash::{BuildHasher, RandomState};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use interop::built;
use interop::ros2::{Distro, Ros2Graph};
use interop::{TIMEOUT, is_full, ready};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolResponse};
use runnel::{Context, Error, ServiceServer};
use runnel_testkit::process::{Peer, deadline_in};

const SERVICE: &str = "/power";
const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];

/// The tests run one at a time, since one of them loses datagrams.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processes that start one after another, each after a random delay.
const SEQUENCES: usize = 4;
const MOST_DELAY_MILLIS: u64 = 300;

/// Starts callers by `start`, and waits until each has its response.
fn run_callers(short: usize, start: impl Fn() -> Peer + Sync) {
    let count = if is_full() { 1000 } else { short };
    let started = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..SEQUENCES {
            scope.spawn(|| {
                while started.fetch_add(1, Ordering::SeqCst) < count {
                    let random = RandomState::new().hash_one(0_u8) % MOST_DELAY_MILLIS;
                    thread::sleep(Duration::from_millis(random));
                    let mut caller = start();
                    let status = caller.wait_exit(deadline_in(TIMEOUT)).unwrap();
                    assert!(status.success(), "{}", caller.output());
                    assert!(caller.lines().iter().any(|line| line.starts_with("answered ")));
                }
            });
        }
    });
}

fn runnel_caller(graph: &Ros2Graph) -> Peer {
    let mut command = graph.command(built("runnel_ros2_caller"));
    command.arg(SERVICE);
    Peer::spawn("runnel_ros2_caller", command).unwrap()
}

fn rclpy_caller(graph: &Ros2Graph, distro: Distro) -> Peer {
    graph.rclpy(distro, "caller.py", "caller", &[SERVICE, "--once"])
}

fn rclpy_server(graph: &Ros2Graph, distro: Distro) -> Peer {
    ready(graph.rclpy(distro, "server.py", "server", &[SERVICE]))
}

/// Calls `body` while a context serves.
fn with_runnel_server(graph: &Ros2Graph, body: impl FnOnce()) {
    let context = graph.context();
    let node = context.create_node("server").unwrap();
    let _server: ServiceServer = node
        .create_service::<SetBool, Error>(SERVICE, |request| {
            Ok(SetBoolResponse { success: request.data, message: "on".to_owned() })
        })
        .unwrap();
    thread::scope(|scope| {
        let _ends = ShutDown(&context);
        scope.spawn(|| context.spin().unwrap());
        body();
    });
}

struct ShutDown<'a>(&'a Context);

impl Drop for ShutDown<'_> {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

/// Drops a tenth of all datagrams until it is dropped itself.
struct Loss;

impl Loss {
    fn new() -> Self {
        let loss = Self;
        for line in [
            "add table inet loss",
            "add chain inet loss in { type filter hook input priority 0; }",
            "add rule inet loss in meta l4proto udp numgen random mod 10 < 1 drop",
        ] {
            assert!(Command::new("nft").arg(line).status().expect("nft").success(), "nft {line}");
        }
        loss
    }
}

impl Drop for Loss {
    fn drop(&mut self) {
        let _ = Command::new("nft").arg("delete table inet loss").status();
    }
}

#[test]
fn fresh_runnel_processes_lose_no_reply_of_rclpy() {
    let _alone = alone();
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let _server = rclpy_server(&graph, distro);
        run_callers(20, || runnel_caller(&graph));
    }
}

#[test]
fn fresh_rclpy_processes_lose_no_reply_of_runnel() {
    let _alone = alone();
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        with_runnel_server(&graph, || run_callers(8, || rclpy_caller(&graph, distro)));
    }
}

#[test]
#[ignore = "in ./test --full"]
fn fresh_processes_lose_no_reply_when_datagrams_are_lost() {
    let _alone = alone();
    let _loss = Loss::new();
    let (near, far) = (Ros2Graph::new(), Ros2Graph::new());
    with_runnel_server(&near, || run_callers(4, || rclpy_caller(&near, Distro::Kilted)));
    let _server = rclpy_server(&far, Distro::Kilted);
    run_callers(12, || runnel_caller(&far));
}
