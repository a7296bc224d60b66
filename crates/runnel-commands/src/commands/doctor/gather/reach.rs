//! Whether a server is reachable, and how many are asked in parallel.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use runnel_io::lookup;

use crate::cli_context::family;
use crate::commands::doctor::found::ServerFault;
use crate::error::plain;

/// How long the resolver may take for a name.
const LOOKUP: Duration = Duration::from_secs(3);

/// How long a connection may take. A listener with a full backlog drops the first SYN; the kernel resends it after 1
/// s and 3 s.
pub const CONNECT: Duration = Duration::from_secs(4);

/// Requests at a time, each on a thread.
const PARALLEL: usize = 128;

/// Stack of such a thread, in bytes.
const STACK: usize = 128 * 1024;

/// Asks for all items, many in parallel. The answers have the order of the items.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], ask: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            match items.get(index) {
                Some(item) => answers.push((index, ask(item))),
                None => return answers,
            }
        }
    };
    let mut answers = thread::scope(|scope| {
        let start = |_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok();
        // If no thread can be created, this one does all the work.
        let workers: Vec<_> = (1..items.len().min(PARALLEL)).map_while(start).collect();
        let mut answers = work();
        for worker in workers {
            answers.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        answers
    });
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// What earlier connections to a server have shown. A silent server is not asked again.
#[derive(Default)]
pub struct Server {
    silent: Option<ServerFault>,
}

impl Server {
    /// Opens a connection, unless an earlier one got no answer.
    ///
    /// # Errors
    /// The fault of the server, now or earlier.
    pub fn connect<R>(&mut self, open: impl FnOnce() -> Result<R, ServerFault>) -> Result<R, ServerFault> {
        if let Some(fault) = &self.silent {
            return Err(fault.clone());
        }
        open().inspect_err(|fault| {
            if matches!(fault, ServerFault::Silent | ServerFault::Mute) {
                self.silent = Some(fault.clone());
            }
        })
    }
}

/// As [`in_parallel`], but with one item at a time per server: rospy's listeners have a backlog of 5 connections.
pub fn sequential_per_server<T: Sync, K: Ord, R: Send>(
    items: &[T],
    server_of: impl Fn(&T) -> K,
    ask: impl Fn(&T, &mut Server) -> R + Sync,
) -> Vec<R> {
    let mut groups: BTreeMap<K, Vec<(usize, &T)>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        groups.entry(server_of(item)).or_default().push((index, item));
    }
    let groups: Vec<_> = groups.into_values().collect();
    let answers = in_parallel(&groups, |group| {
        let mut server = Server::default();
        group.iter().map(|(index, item)| (*index, ask(item, &mut server))).collect::<Vec<_>>()
    });
    let mut answers: Vec<_> = answers.into_iter().flatten().collect();
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The addresses of hosts, each resolved once.
#[derive(Default)]
pub struct Hosts {
    known: BTreeMap<String, Result<IpAddr, String>>,
}

impl Hosts {
    /// Resolves the hosts that are not known yet.
    pub fn look_up<'h>(&mut self, hosts: impl IntoIterator<Item = &'h str>) {
        let mut new: Vec<String> = hosts.into_iter().map(str::to_owned).collect();
        new.retain(|host| !self.known.contains_key(host));
        new.sort();
        new.dedup();
        let addresses = in_parallel(&new, |host| address(host));
        self.known.extend(new.into_iter().zip(addresses));
    }

    /// The address of a resolved host, or its fault.
    pub fn address(&self, host: &str) -> Result<IpAddr, ServerFault> {
        let found = self.known.get(host).cloned().unwrap_or_else(|| Err("it was not resolved".into()));
        found.map_err(|why| ServerFault::Unresolved { host: host.to_owned(), why })
    }
}

/// The address of a host, or why it has none.
pub fn address(host: &str) -> Result<IpAddr, String> {
    if let Some(address) = lookup::resolve_immediately(host, 0, family()) {
        return Ok(address.ip());
    }
    let (send, receive) = channel();
    let done = move |address| {
        // The receiver may have given up.
        let _ = send.send(address);
    };
    lookup::resolve_in_background(host.to_owned(), family(), done)
        .map_err(|error| plain(&error.to_string()))?;
    match receive.recv_timeout(LOOKUP) {
        Ok(Ok(address)) => Ok(address),
        Ok(Err(error)) => Err(resolver_said(&error.to_string())),
        Err(_) => Err(format!("the resolver does not answer within {} s", LOOKUP.as_secs())),
    }
}

fn resolver_said(why: &str) -> String {
    plain(why.strip_prefix("failed to lookup address information: ").unwrap_or(why))
}

/// Whether this host has the address: a socket can be bound to it.
pub fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Opens a TCP connection.
///
/// # Errors
/// The fault of the server.
pub fn connect(to: SocketAddr) -> Result<TcpStream, ServerFault> {
    TcpStream::connect_timeout(&to, CONNECT).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused => ServerFault::Refused,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => ServerFault::Silent,
        _ => ServerFault::Unreachable(plain(&error.to_string())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(
            in_parallel(&items, |item| item * 2),
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert_eq!(in_parallel(&[0; 0], |item| *item), [0; 0]);
    }

    #[test]
    fn requests_run_in_parallel() {
        let barrier = std::sync::Barrier::new(50);
        // The barrier opens only if all requests run in parallel.
        assert_eq!(in_parallel(&[(); 50], |()| barrier.wait().is_leader()).len(), 50);
    }

    #[test]
    fn each_server_gets_one_request_at_a_time() {
        let items: Vec<usize> = (0..100).collect();
        let busy: Vec<AtomicUsize> = (0..3).map(|_| AtomicUsize::new(0)).collect();
        let ask = |item: &usize, _: &mut Server| {
            assert_eq!(busy[item % 3].fetch_add(1, Ordering::SeqCst), 0, "only one request at a time");
            thread::yield_now();
            busy[item % 3].fetch_sub(1, Ordering::SeqCst);
            item * 2
        };
        let answers = sequential_per_server(&items, |item| item % 3, ask);
        assert_eq!(answers, items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }

    #[test]
    fn silent_server_is_asked_once() {
        let asked = AtomicUsize::new(0);
        let answers = sequential_per_server(
            &[0, 1, 1, 0],
            |item| *item,
            |item, server| {
                server.connect(|| {
                    asked.fetch_add(1, Ordering::SeqCst);
                    if *item == 0 { Err::<(), _>(ServerFault::Silent) } else { Ok(()) }
                })
            },
        );
        assert_eq!(answers, [Err(ServerFault::Silent), Ok(()), Ok(()), Err(ServerFault::Silent)]);
        assert_eq!(asked.into_inner(), 3);
    }

    #[test]
    fn unresolved_host_is_named() {
        let mut hosts = Hosts::default();
        let long = "x".repeat(64);
        hosts.look_up(["127.0.0.1", "localhost", long.as_str()]);
        assert_eq!(hosts.address("localhost"), Ok(IpAddr::from([127, 0, 0, 1])));
        assert!(matches!(hosts.address(&long), Err(ServerFault::Unresolved { host, .. }) if host == long));
    }

    #[test]
    fn resolver_error_becomes_part_of_a_sentence() {
        let said = "failed to lookup address information: Name or service not known";
        assert_eq!(resolver_said(said), "name or service not known");
    }

    #[test]
    fn address_of_another_host_is_not_own() {
        assert!(is_own([127, 0, 0, 1].into()));
        assert!(!is_own([192, 0, 2, 1].into()));
    }
}
