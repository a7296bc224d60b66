//! What the tests of the node API share: contexts with a master of their own, and waiting with a deadline.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::net::Ipv4Addr;
use std::time::Duration;

use runnel::io::clock;
use runnel::{Context, ContextOptions, MasterOptions};

/// Longer than anything here takes; only a failure waits for it.
pub const LONG: Duration = Duration::from_secs(60);

/// What is so at once is so within this time. Later it is looked at after pauses.
const SOON: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_micros(100);

/// A master of its own and contexts that use it.
pub struct Graph {
    master: Context,
    /// Where the master listens.
    pub uri: String,
}

impl Graph {
    /// Starts a master on a free port.
    pub fn new() -> Self {
        let master = context(&[]);
        let uri = master.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, 0))).unwrap().to_string();
        Self { master, uri }
    }

    /// What makes a context that uses the master.
    pub fn options(&self) -> ContextOptions {
        ContextOptions::default().signals(false).arguments([format!("__master:={}", self.uri)])
    }

    /// A context that uses the master; with a second one, messages go through sockets.
    pub fn context(&self) -> Context {
        self.context_with(&[])
    }

    /// A context with more arguments.
    pub fn context_with(&self, arguments: &[&str]) -> Context {
        let master = format!("__master:={}", self.uri);
        let all: Vec<&str> = [master.as_str()].into_iter().chain(arguments.iter().copied()).collect();
        context(&all)
    }

    /// A context whose links stay on the network.
    pub fn context_on_network(&self) -> Context {
        Context::with_options(self.options().ipc(false)).unwrap()
    }

    /// A context whose nodes neither log to `/rosout` nor follow simulated time: a tool's.
    pub fn tool(&self) -> Context {
        Context::with_options(self.options().rosout(false).sim_time(false)).unwrap()
    }

    /// The value of an answer of the master.
    pub fn ask(&self, method: &str, params: &[runnel::ros1::xmlrpc::Value]) -> runnel::ros1::xmlrpc::Value {
        let uri = runnel::ros1::rpc::Uri::parse(&self.uri).unwrap();
        let answer = self.master.call(&uri, method, params, LONG).unwrap();
        answer.as_array().unwrap()[2].clone()
    }
}

fn context(arguments: &[&str]) -> Context {
    let arguments = arguments.iter().copied();
    Context::with_options(ContextOptions::default().arguments(arguments).signals(false)).unwrap()
}

/// Spins until `done`; panics with `what` if it takes too long.
pub fn spin_until(context: &Context, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = clock::monotonic() + LONG;
    while !done() {
        assert!(clock::monotonic() < deadline, "still not: {what}");
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
}

/// Waits until `done` without spinning; panics with `what` if it takes too long.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = clock::monotonic();
    while !done() {
        let waited = clock::monotonic().since(begun);
        assert!(waited < LONG, "still not: {what}");
        // Those that it waits for have use for the processor.
        if waited < SOON { std::thread::yield_now() } else { std::thread::sleep(PAUSE) }
    }
}
