//! Program that `bench/data-path` runs under callgrind: `data_path PATH COUNT` sends COUNT messages along one path.
//!
//! Publisher and subscription are in two contexts of this process, or in one for the path `process`. Callgrind
//! counts [`send_one`] and [`receive_all`], which begin after the warm-up. Each message is sent once the receiving
//! thread sleeps in the reactor, so that every message takes the same steps.

use std::env;
use std::error::Error;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, ContextOptions, Graphs, MasterOptions, Publisher, SubscriptionOptions};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Warm-up messages, after which no buffer grows.
const WARM_UP: u64 = 100;

/// Time limit of each step, long enough for callgrind.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Length of the payload in bytes.
const SMALL: usize = 10;
const LARGE: usize = 100_000;

/// Numbers of the system calls that wait for a reactor's sockets: epoll_wait, ppoll, epoll_pwait and epoll_pwait2.
#[cfg(target_arch = "x86_64")]
const WAITS: [&str; 4] = ["232", "271", "281", "441"];
#[cfg(not(target_arch = "x86_64"))]
const WAITS: [&str; 3] = ["73", "22", "441"];

/// Path of the messages.
struct DataPath {
    graphs: Graphs,
    ipc: bool,
    one_context: bool,
    bytes: usize,
    udpros: bool,
}

impl DataPath {
    fn named(name: &str) -> Outcome<Self> {
        let path = |graphs, ipc, bytes| Self { graphs, ipc, bytes, one_context: false, udpros: false };
        Ok(match name {
            "ros1-tcpros" => path(Graphs::Ros1, false, SMALL),
            "ros1-udpros" => Self { udpros: true, ..path(Graphs::Ros1, false, SMALL) },
            "ros1-shm-small" => path(Graphs::Ros1, true, SMALL),
            "ros1-shm-large" => path(Graphs::Ros1, true, LARGE),
            "ros2-rtps" => path(Graphs::Ros2, false, SMALL),
            "ros2-shm-small" => path(Graphs::Ros2, true, SMALL),
            "ros2-shm-large" => path(Graphs::Ros2, true, LARGE),
            "process" => Self { one_context: true, ..path(Graphs::Ros2, false, SMALL) },
            _ => return Err(format!("unknown path {name}").into()),
        })
    }

    fn context(&self, master: &str) -> Outcome<Context> {
        let options = ContextOptions::default().arguments([format!("__master:={master}")]).signals(false);
        Ok(Context::with_options(options.graphs(self.graphs).ipc(self.ipc).domain_id(21))?)
    }
}

/// State shared by both threads.
#[derive(Default)]
struct Progress {
    received: AtomicU64,
    /// The warm-up has ended.
    measuring: AtomicBool,
    /// The receiving thread has left the warm-up's loop.
    receiving: AtomicBool,
    /// `/proc/PID/task/TID/syscall` of the receiving thread.
    syscall: OnceLock<PathBuf>,
}

impl Progress {
    fn is_receiver_asleep(&self) -> bool {
        let text = self.syscall.get().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        text.split(' ').next().is_some_and(|number| WAITS.contains(&number))
    }
}

/// Counted by callgrind: `publish` of one message.
#[inline(never)]
fn send_one(
    publisher: &Publisher<UInt8MultiArray>,
    message: &Arc<UInt8MultiArray>,
) -> Result<(), runnel::Error> {
    publisher.publish(Arc::clone(message))
}

/// Counted by callgrind: the receiving thread, from its wait to the callback.
#[inline(never)]
fn receive_all(context: &Context) -> Result<(), runnel::Error> {
    context.spin()
}

/// The subscription's callback.
#[inline(never)]
fn on_message(message: &UInt8MultiArray, progress: &Progress) {
    assert_eq!(message.data.last(), Some(&7));
    progress.received.fetch_add(1, Ordering::SeqCst);
}

fn receive(context: &Context, progress: &Progress) -> Outcome<()> {
    let thread = Path::new("/proc").join(fs::read_link("/proc/thread-self")?);
    progress.syscall.get_or_init(|| thread.join("syscall"));
    while !progress.measuring.load(Ordering::SeqCst) {
        context.spin_once(Duration::from_millis(10))?;
    }
    progress.receiving.store(true, Ordering::SeqCst);
    Ok(receive_all(context)?)
}

fn wait_until(condition: &str, is_met: impl Fn() -> bool) -> Outcome<()> {
    let deadline = Instant::now() + STEP_TIMEOUT;
    while !is_met() {
        if Instant::now() > deadline {
            return Err(format!("waited {STEP_TIMEOUT:?} in vain: {condition}").into());
        }
        thread::yield_now();
    }
    Ok(())
}

fn send(
    path: &DataPath,
    publisher: &Publisher<UInt8MultiArray>,
    count: u64,
    progress: &Progress,
) -> Outcome<()> {
    let message = Arc::new(UInt8MultiArray { data: vec![7; path.bytes], ..UInt8MultiArray::default() });
    wait_until("a subscriber", || publisher.wait_for_subscribers(1, Duration::ZERO).unwrap_or(false))?;
    wait_until("a link of the kind", || publisher.shared_memory_count() == usize::from(path.ipc))?;
    let each = |number, publish: &dyn Fn() -> Result<(), runnel::Error>| {
        wait_until("a sleeping receiver", || progress.is_receiver_asleep())?;
        publish()?;
        wait_until("the message", || progress.received.load(Ordering::SeqCst) >= number)
    };
    (1..=WARM_UP).try_for_each(|number| each(number, &|| publisher.publish(Arc::clone(&message))))?;
    progress.measuring.store(true, Ordering::SeqCst);
    wait_until("the receiving thread", || progress.receiving.load(Ordering::SeqCst))?;
    (1..=count).try_for_each(|number| each(WARM_UP + number, &|| send_one(publisher, &message)))
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, count] = arguments.as_slice() else { return Err("usage: data_path PATH COUNT".into()) };
    let (path, count) = (DataPath::named(name)?, count.parse()?);
    let options = ContextOptions::default().arguments([""; 0]).signals(false).ipc(false);
    let master = Context::with_options(options)?;
    let uri = master.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, 0)))?.to_string();
    let publisher_context = path.context(&uri)?;
    let subscriber_context = if path.one_context { publisher_context.clone() } else { path.context(&uri)? };
    let (talker, listener) =
        (publisher_context.create_node("talker")?, subscriber_context.create_node("listener")?);
    let publisher = talker.create_publisher::<UInt8MultiArray>("topic", 10)?;
    let progress = Arc::new(Progress::default());
    let counted = Arc::clone(&progress);
    let callback = move |message: &UInt8MultiArray| on_message(message, &counted);
    let options = SubscriptionOptions::from(10);
    let options = if path.udpros { options.udpros() } else { options };
    let _subscription = listener.create_subscription("topic", options, callback)?;
    thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&subscriber_context, &progress));
        let sent = send(&path, &publisher, count, &progress);
        progress.measuring.store(true, Ordering::SeqCst);
        subscriber_context.shutdown();
        let received = receiving.join().map_err(|_| "the receiving thread panicked")?;
        sent.and(received)
    })
}
