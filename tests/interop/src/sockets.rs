//! TCP connections of this network namespace, from the kernel. IPv4 only.

use std::fs::read_to_string;

/// An established connection, as seen by one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Port of this end.
    pub local: u16,
    /// Port of the other end.
    pub remote: u16,
    /// Received bytes that the program has not read.
    pub unread: usize,
}

/// The established connections to a port, as seen by the connecting ends.
///
/// # Panics
/// If the kernel's list is not as documented in proc(5).
pub fn connections_to(port: u16) -> Vec<Connection> {
    const ESTABLISHED: &str = "01";
    let table = read_to_string("/proc/self/net/tcp").expect("the list of connections");
    let connection = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |field: &str| {
            let (_, number) = field.split_once(':').expect("two numbers");
            usize::from_str_radix(number, 16).expect("a hexadecimal number")
        };
        let port = |field: &str| u16::try_from(number(field)).expect("a port");
        let (local, remote, unread) = (port(fields[1]), port(fields[2]), number(fields[4]));
        (fields[3] == ESTABLISHED).then_some(Connection { local, remote, unread })
    };
    table.lines().skip(1).filter_map(connection).filter(|connection| connection.remote == port).collect()
}

/// Number of retransmitted SYNs in this namespace: a listener with a full backlog drops them, and they are repeated
/// after 1 s.
///
/// # Panics
/// If the kernel does not count them.
pub fn syn_retransmissions() -> u64 {
    let statistics = read_to_string("/proc/self/net/netstat").expect("the statistics");
    let mut lines = statistics.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let mut columns = names.split(' ').zip(values.split(' '));
    let (_, value) = columns.find(|(name, _)| *name == "TCPSynRetrans").expect("TCPSynRetrans");
    value.parse().expect("a number")
}
