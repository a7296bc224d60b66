//! Contexts with a master of their own, and waiting with a deadline.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use runnel::{Context, ContextOptions, MasterOptions};
use runnel_io::clock;

/// Longer than any step takes: only a failing test waits so long.
pub const LONG: Duration = Duration::from_secs(60);

/// Most conditions become true within this time. After it, the thread pauses between checks.
const SOON: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_micros(100);

/// A master, and contexts that use it.
pub struct Graph {
    master: Context,
    /// URI of the master.
    pub uri: String,
}

impl Graph {
    /// Starts a master on a free port.
    pub fn new() -> Self {
        Self::at(0)
    }

    /// Starts a master on this port.
    pub fn at(port: u16) -> Self {
        let (master, mut uri) = (context(&[]), None);
        wait_until("an earlier master has left the port", || {
            uri = master.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, port))).ok();
            uri.is_some()
        });
        Self { master, uri: uri.unwrap().to_string() }
    }

    /// Options of a context that uses the master.
    pub fn options(&self) -> ContextOptions {
        ContextOptions::default().signals(false).arguments([format!("__master:={}", self.uri)])
    }

    /// A context that uses the master. Messages between two contexts go through sockets or shared memory.
    pub fn context(&self) -> Context {
        self.context_with(&[])
    }

    /// A context with further arguments.
    pub fn context_with(&self, arguments: &[&str]) -> Context {
        let master = format!("__master:={}", self.uri);
        let all: Vec<&str> = [master.as_str()].into_iter().chain(arguments.iter().copied()).collect();
        context(&all)
    }

    /// A context without shared memory.
    pub fn context_on_network(&self) -> Context {
        Context::with_options(self.options().ipc(false)).unwrap()
    }

    /// A context for tools, whose nodes neither log to `/rosout` nor follow simulated time.
    pub fn tool(&self) -> Context {
        Context::with_options(self.options().rosout(false).sim_time(false)).unwrap()
    }

    /// The value of the master's answer to a call.
    pub fn ask(&self, method: &str, params: &[runnel_ros1::xmlrpc::Value]) -> runnel_ros1::xmlrpc::Value {
        let uri = runnel_ros1::rpc::Uri::parse(&self.uri).unwrap();
        let answer = self.master.call(&uri, method, params, LONG).unwrap();
        answer.as_array().unwrap()[2].clone()
    }
}

fn context(arguments: &[&str]) -> Context {
    let arguments = arguments.iter().copied();
    Context::with_options(ContextOptions::default().arguments(arguments).signals(false)).unwrap()
}

/// Spins until `done`, or panics with `what` after a long time.
pub fn spin_until(context: &Context, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = clock::monotonic() + LONG;
    while !done() {
        assert!(clock::monotonic() < deadline, "timed out: {what}");
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
}

/// Waits until `done` without spinning, or panics with `what` after a long time.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = clock::monotonic();
    while !done() {
        let waited = clock::monotonic().since(begun);
        assert!(waited < LONG, "timed out: {what}");
        // Other threads need the processor meanwhile.
        if waited < SOON { thread::yield_now() } else { thread::sleep(PAUSE) }
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Completes a future on this thread, or panics after a long time. The thread sleeps while the future is pending.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let deadline = clock::monotonic() + LONG;
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Task::from_waker(&waker)) {
            return output;
        }
        let left = deadline.since(clock::monotonic());
        assert!(!left.is_zero(), "timed out: the future is pending");
        thread::park_timeout(left);
    }
}
