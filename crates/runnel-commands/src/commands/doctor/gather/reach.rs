//! Whether a server can be reached, and who is asked at the same time.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use runnel::io::lookup;

use crate::commands::doctor::found::Trouble;
use crate::error::plain;
use crate::session::family;

/// How long the resolver may take over a name.
const LOOKUP: Duration = Duration::from_secs(3);

/// How long a connection may take. A listener whose backlog is full drops the first packet, which is sent again after 1 s
/// and after 3 s.
pub const CONNECT: Duration = Duration::from_secs(4);

/// How many are asked at a time, each on a thread.
const SIDE_BY_SIDE: usize = 128;

/// Stack of such a thread, in bytes.
const STACK: usize = 128 * 1024;

/// Asks for all items, many at a time. The answers come in the order of the items.
pub fn side_by_side<T: Sync, R: Send>(items: &[T], ask: impl Fn(&T) -> R + Sync) -> Vec<R> {
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
        // Where no thread can be had, this one does the work.
        let workers: Vec<_> = (1..items.len().min(SIDE_BY_SIDE)).map_while(start).collect();
        let mut answers = work();
        for worker in workers {
            answers.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        answers
    });
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// What the first conversations with a server have shown: one that is silent is not asked again.
#[derive(Default)]
pub struct Server {
    silent: Option<Trouble>,
}

impl Server {
    /// Opens a conversation, unless an earlier one got no answer.
    ///
    /// # Errors
    /// What is wrong there, or was.
    pub fn converse<R>(&mut self, open: impl FnOnce() -> Result<R, Trouble>) -> Result<R, Trouble> {
        if let Some(trouble) = &self.silent {
            return Err(trouble.clone());
        }
        open().inspect_err(|trouble| {
            if matches!(trouble, Trouble::Silent | Trouble::Mute) {
                self.silent = Some(trouble.clone());
            }
        })
    }
}

/// As [`side_by_side`], but asks only one item of each server at a time: rospy's listeners have room for 5 connections.
pub fn one_by_one_per_server<T: Sync, K: Ord, R: Send>(
    items: &[T],
    server_of: impl Fn(&T) -> K,
    ask: impl Fn(&T, &mut Server) -> R + Sync,
) -> Vec<R> {
    let mut groups: BTreeMap<K, Vec<(usize, &T)>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        groups.entry(server_of(item)).or_default().push((index, item));
    }
    let groups: Vec<_> = groups.into_values().collect();
    let answers = side_by_side(&groups, |group| {
        let mut server = Server::default();
        group.iter().map(|(index, item)| (*index, ask(item, &mut server))).collect::<Vec<_>>()
    });
    let mut answers: Vec<_> = answers.into_iter().flatten().collect();
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The addresses of hosts, each looked up once.
#[derive(Default)]
pub struct Hosts {
    known: BTreeMap<String, Result<IpAddr, String>>,
}

impl Hosts {
    /// Looks up those that are not known yet.
    pub fn look_up<'h>(&mut self, hosts: impl IntoIterator<Item = &'h str>) {
        let mut new: Vec<String> = hosts.into_iter().map(str::to_owned).collect();
        new.retain(|host| !self.known.contains_key(host));
        new.sort();
        new.dedup();
        let addresses = side_by_side(&new, |host| address(host));
        self.known.extend(new.into_iter().zip(addresses));
    }

    /// The address of a host that was looked up, or what is wrong with it.
    pub fn address(&self, host: &str) -> Result<IpAddr, Trouble> {
        let found = self.known.get(host).cloned().unwrap_or_else(|| Err("it was not looked up".into()));
        found.map_err(|why| Trouble::Unresolved { host: host.to_owned(), why })
    }
}

/// The address of a host, or why it has none.
pub fn address(host: &str) -> Result<IpAddr, String> {
    if let Some(address) = lookup::resolve_immediately(host, 0, family()) {
        return Ok(address.ip());
    }
    let (send, receive) = channel();
    let done = move |address| {
        // Nobody waits any more for one that comes late.
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

/// Opens a connection.
///
/// # Errors
/// What is wrong there.
pub fn connect(to: SocketAddr) -> Result<TcpStream, Trouble> {
    TcpStream::connect_timeout(&to, CONNECT).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused => Trouble::Refused,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Trouble::Silent,
        _ => Trouble::Unreachable(plain(&error.to_string())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_items_however_many_there_are() {
        let items: Vec<usize> = (0..1000).collect();
        assert_eq!(
            side_by_side(&items, |item| item * 2),
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert_eq!(side_by_side(&[0; 0], |item| *item), [0; 0]);
    }

    #[test]
    fn all_are_asked_at_the_same_time() {
        let barrier = std::sync::Barrier::new(50);
        // It ends only if nobody waits for another.
        assert_eq!(side_by_side(&[(); 50], |()| barrier.wait().is_leader()).len(), 50);
    }

    #[test]
    fn each_server_is_asked_one_item_at_a_time() {
        let items: Vec<usize> = (0..100).collect();
        let busy: Vec<AtomicUsize> = (0..3).map(|_| AtomicUsize::new(0)).collect();
        let ask = |item: &usize, _: &mut Server| {
            assert_eq!(busy[item % 3].fetch_add(1, Ordering::SeqCst), 0, "nobody else asks");
            thread::yield_now();
            busy[item % 3].fetch_sub(1, Ordering::SeqCst);
            item * 2
        };
        let answers = one_by_one_per_server(&items, |item| item % 3, ask);
        assert_eq!(answers, items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }

    #[test]
    fn silent_server_is_asked_once() {
        let asked = AtomicUsize::new(0);
        let answers = one_by_one_per_server(
            &[0, 1, 1, 0],
            |item| *item,
            |item, server| {
                server.converse(|| {
                    asked.fetch_add(1, Ordering::SeqCst);
                    if *item == 0 { Err::<(), _>(Trouble::Silent) } else { Ok(()) }
                })
            },
        );
        assert_eq!(answers, [Err(Trouble::Silent), Ok(()), Ok(()), Err(Trouble::Silent)]);
        assert_eq!(asked.into_inner(), 3);
    }

    #[test]
    fn a_host_that_does_not_resolve_is_named() {
        let mut hosts = Hosts::default();
        let long = "x".repeat(64);
        hosts.look_up(["127.0.0.1", "localhost", long.as_str()]);
        assert_eq!(hosts.address("localhost"), Ok(IpAddr::from([127, 0, 0, 1])));
        assert!(matches!(hosts.address(&long), Err(Trouble::Unresolved { host, .. }) if host == long));
    }

    #[test]
    fn what_the_resolver_says_is_part_of_a_sentence() {
        let said = "failed to lookup address information: Name or service not known";
        assert_eq!(resolver_said(said), "name or service not known");
    }

    #[test]
    fn an_address_of_another_host_is_not_our_own() {
        assert!(is_own([127, 0, 0, 1].into()));
        assert!(!is_own([192, 0, 2, 1].into()));
    }
}
