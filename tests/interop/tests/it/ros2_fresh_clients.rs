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

/// The other end of a service.
#[derive(Clone, Copy, Debug)]
enum Other {
    Rclpy(Distro),
    /// A program of our own on Cyclone DDS that frames services as rmw_cyclonedds does.
    Cyclone,
}

const OTHERS: [Other; 3] = [Other::Rclpy(Distro::Kilted), Other::Rclpy(Distro::Jazzy), Other::Cyclone];

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

impl Other {
    fn caller(self, graph: &Ros2Graph) -> Peer {
        match self {
            Other::Rclpy(distro) => graph.rclpy(distro, "caller.py", "caller", &[SERVICE, "--once"]),
            Other::Cyclone => graph.cyclone_service(&[SERVICE, "client", "0"]),
        }
    }

    fn server(self, graph: &Ros2Graph) -> Peer {
        ready(match self {
            Other::Rclpy(distro) => graph.rclpy(distro, "server.py", "server", &[SERVICE]),
            Other::Cyclone => graph.cyclone_service(&[SERVICE, "server"]),
        })
    }
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

/// Drops datagrams until it is dropped itself.
struct Loss;

impl Loss {
    /// Drops a tenth of all datagrams.
    fn of_a_tenth() -> Self {
        Self::of("numgen random mod 10 < 1")
    }

    /// Drops the first HEARTBEAT of an empty user writer of Fast DDS: after its header of 20 bytes, the datagram holds an
    /// INFO_DST of 16 bytes and the HEARTBEAT, whose last number is 0. Offsets are in bits, from the UDP header on.
    fn of_first_empty_heartbeat() -> Self {
        Self::of("@th,112,16 0x010f @th,352,8 0x07 @th,440,8 0x03 @th,544,32 0 numgen inc mod 1000000 < 1")
    }

    fn of(datagrams: &str) -> Self {
        let loss = Self;
        for line in [
            "add table inet loss",
            "add chain inet loss in { type filter hook input priority 0; }",
            &format!("add rule inet loss in meta l4proto udp {datagrams} counter drop"),
        ] {
            assert!(Command::new("nft").arg(line).status().expect("nft").success(), "nft {line}");
        }
        loss
    }

    /// Returns the number of dropped datagrams.
    fn count(&self) -> u64 {
        let output = Command::new("nft").args(["list", "table", "inet", "loss"]).output().expect("nft");
        let rules = String::from_utf8_lossy(&output.stdout).into_owned();
        let count = rules.split("counter packets ").nth(1).and_then(|rest| rest.split(' ').next());
        count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no counter in {rules}"))
    }
}

impl Drop for Loss {
    fn drop(&mut self) {
        let _ = Command::new("nft").arg("delete table inet loss").status();
    }
}

#[test]
fn fresh_runnel_processes_lose_no_reply() {
    let _alone = alone();
    for other in OTHERS {
        let graph = Ros2Graph::new();
        let server = other.server(&graph);
        run_callers(20, || runnel_caller(&graph));
        if matches!(other, Other::Cyclone) {
            expect_answer_of_rmw(&server);
        }
    }
}

/// Checks that some callers had announced their readers of responses before their requests: `rmw_cyclonedds` waits for
/// them only this long. On a busy machine others may be late.
fn expect_answer_of_rmw(server: &Peer) {
    const LONGEST_MILLIS: u32 = 100;
    let waits: Vec<u32> =
        server.lines().iter().filter_map(|line| line.strip_prefix("waited ")?.parse().ok()).collect();
    assert!(waits.iter().any(|wait| *wait < LONGEST_MILLIS), "{waits:?} ms");
}

#[test]
fn fresh_processes_of_others_lose_no_reply_of_runnel() {
    let _alone = alone();
    for other in OTHERS {
        let graph = Ros2Graph::new();
        with_runnel_server(&graph, || run_callers(8, || other.caller(&graph)));
    }
}

/// Fast DDS sends the HEARTBEAT by which the client knows that the server has matched it only once.
#[test]
fn lost_first_heartbeat_of_rclpy_is_requested_again() {
    let _alone = alone();
    for distro in Distro::ALL {
        let graph = Ros2Graph::new();
        let _server = Other::Rclpy(distro).server(&graph);
        let loss = Loss::of_first_empty_heartbeat();
        let mut caller = runnel_caller(&graph);
        assert!(caller.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", caller.output());
        assert_eq!(loss.count(), 1, "{distro:?}");
    }
}

#[test]
fn fresh_processes_lose_no_reply_when_datagrams_are_lost() {
    let _alone = alone();
    let _loss = Loss::of_a_tenth();
    // The two distributions of rclpy differ little.
    for other in OTHERS.iter().filter(|other| is_full() || !matches!(other, Other::Rclpy(Distro::Jazzy))) {
        let (near, far) = (Ros2Graph::new(), Ros2Graph::new());
        with_runnel_server(&near, || run_callers(4, || other.caller(&near)));
        let _server = other.server(&far);
        run_callers(12, || runnel_caller(&far));
    }
}
