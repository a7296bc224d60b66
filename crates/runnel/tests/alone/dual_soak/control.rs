//! Child processes of the soak, controlled by lines of text.

use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::child_process::start_at;
use runnel::{Context, ContextOptions, Graphs};
use runnel_testkit::process::Peer;

use super::{ENTRY, TIMEOUT};

/// A child process, with the connection for its requests.
pub struct Process {
    pub peer: Peer,
    control: BufReader<UnixStream>,
}

impl Process {
    /// Starts a process with this role and domain.
    pub fn start(master: &str, domain: u16, role: &str, ipc: bool) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("runnel-soak-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let peer = start_at(master, ENTRY, role, &format!("{name} {domain} {ipc}"));
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        Self { peer, control: BufReader::new(stream) }
    }

    /// Sends a request and returns the reply.
    #[track_caller]
    pub fn ask(&mut self, line: &str) -> String {
        let mut answer = String::new();
        let asked = writeln!(self.control.get_mut(), "{line}");
        let answered = asked.and_then(|()| self.control.read_line(&mut answer));
        assert!(answered.is_ok() && answer.ends_with('\n'), "{line}: {answered:?}\n{}", self.peer.output());
        answer.trim_end().to_owned()
    }
}

/// The child's side: its context, and the connection with the parent.
pub struct Child {
    pub context: Context,
    control: BufReader<UnixStream>,
}

impl Child {
    /// Starts as [`Process::start`] has requested. A thread of its own polls the context.
    pub fn new(argument: &str) -> Self {
        let [name, domain, ipc] = argument.split(' ').collect::<Vec<_>>()[..] else { panic!("{argument}") };
        let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
        let options = ContextOptions::default().signals(false).arguments([""; 0]).linger(TIMEOUT);
        let options = options.graphs(Graphs::Both).domain_id(domain.parse().unwrap());
        let context = Context::with_options(options.ipc(ipc.parse().unwrap())).unwrap();
        let spinning = context.clone();
        std::thread::spawn(move || spinning.spin().unwrap());
        Self { context, control: BufReader::new(stream) }
    }

    /// Answers requests until the parent closes the connection.
    pub fn serve(mut self, mut answer: impl FnMut(&[&str]) -> String) {
        let mut line = String::new();
        while self.control.read_line(&mut line).is_ok_and(|read| read > 0) {
            let answer = answer(&line.split_whitespace().collect::<Vec<_>>());
            writeln!(self.control.get_mut(), "{answer}").unwrap();
            line.clear();
        }
    }
}
