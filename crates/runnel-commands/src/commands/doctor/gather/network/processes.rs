//! Processes of this host with ROS 2 ports, as `/proc` shows them. Those of other users have no names there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use super::VARIABLES;
use crate::commands::doctor::network::found::RosProcess;

/// Ports of a domain. Source: RTPS 2.5, section 9.6.2.
const FIRST_PORT: u16 = 7400;
const PORTS_PER_DOMAIN: u16 = 250;
const UNICAST: u16 = 10;

/// The unicast ports of the first 32 participants of a domain.
const UNICASTS: std::ops::RangeInclusive<u16> = UNICAST..=UNICAST + 63;

/// The ports that the kernel gives to sockets without one; a port among them may have any use.
const EPHEMERAL: std::ops::RangeInclusive<u16> = 32768..=60999;

/// Longest command line, in characters.
const LONGEST: usize = 60;

/// A UDP socket of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    port: u16,
    inode: u64,
    dropped: u64,
}

/// The processes with ROS 2 ports.
pub fn gather(domain: u16) -> Vec<RosProcess> {
    let tables = ["/proc/self/net/udp", "/proc/self/net/udp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    let sockets: HashMap<u64, Socket> =
        tables.iter().flat_map(|table| sockets(table)).map(|socket| (socket.inode, socket)).collect();
    if !sockets.values().any(|socket| socket.port >= FIRST_PORT) {
        return Vec::new();
    }
    let own = runnel_io::host::pid();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids =
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid: &i32| *pid != own);
    pids.flat_map(|pid| of_process(pid, &held(pid, &sockets), domain)).collect()
}

/// Whether an address of the table is an IPv4 group. A doctor listens so to all domains.
fn is_group(address: &str) -> bool {
    let octets = u32::from_str_radix(address, 16).ok().filter(|_| address.len() == 8).map(u32::to_ne_bytes);
    octets.is_some_and(|octets| std::net::Ipv4Addr::from(octets).is_multicast())
}

/// The unconnected sockets in a table of the kernel, without those that listen only to a group.
fn sockets(table: &str) -> Vec<Socket> {
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = words.get(1)?.rsplit_once(':').filter(|(address, _)| !is_group(address))?;
        let is_unconnected = words.get(2)?.ends_with(":0000");
        Some(Socket {
            port: u16::from_str_radix(port, 16).ok().filter(|_| is_unconnected)?,
            inode: words.get(9)?.parse().ok()?,
            dropped: words.get(12)?.parse().ok()?,
        })
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// The sockets that a process holds.
fn held(pid: i32, sockets: &HashMap<u64, Socket>) -> Vec<Socket> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode = |file: fs::DirEntry| {
        let target = fs::read_link(file.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok()
    };
    let inodes: BTreeSet<u64> = files.filter_map(inode).collect();
    inodes.iter().filter_map(|inode| sockets.get(inode).copied()).collect()
}

/// A process in each of its domains.
fn of_process(pid: i32, held: &[Socket], own_domain: u16) -> Vec<RosProcess> {
    let domains = domains(held, own_domain);
    if domains.is_empty() {
        return Vec::new();
    }
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let (command, environment, stat) = (read("cmdline"), read("environ"), read("stat"));
    let process = |domain: u16| RosProcess {
        pid,
        command: command_line(&command),
        domain,
        ports: held.iter().map(|socket| socket.port).collect(),
        variables: variables(&environment),
        is_stopped: is_stopped(&String::from_utf8_lossy(&stat)),
        dropped: held.iter().map(|socket| socket.dropped).sum(),
        is_lasting: false,
        is_dropping: false,
    };
    domains.into_iter().map(process).collect()
}

/// The domains of which these sockets have ports: that of announcements, or a participant's pair. In the own domain one
/// unicast port is enough.
fn domains(held: &[Socket], own_domain: u16) -> BTreeSet<u16> {
    let mut offsets: BTreeMap<u16, BTreeSet<u16>> = BTreeMap::new();
    for port in held.iter().filter_map(|socket| socket.port.checked_sub(FIRST_PORT)) {
        offsets.entry(port / PORTS_PER_DOMAIN).or_default().insert(port % PORTS_PER_DOMAIN);
    }
    let is_ros = |(domain, offsets): &(u16, BTreeSet<u16>)| {
        let has_pair = offsets.iter().any(|at| *at >= UNICAST && at % 2 == 0 && offsets.contains(&(at + 1)));
        let has_group = offsets.contains(&0);
        let has_own = *domain == own_domain && offsets.iter().any(|at| UNICASTS.contains(at));
        let is_ambiguous = EPHEMERAL.contains(&(FIRST_PORT + PORTS_PER_DOMAIN * domain));
        let is_surely_ros = has_group && offsets.iter().any(|at| *at >= UNICAST);
        if is_ambiguous && *domain != own_domain { is_surely_ros } else { has_pair || has_group || has_own }
    };
    offsets.into_iter().filter(is_ros).map(|(domain, _)| domain).collect()
}

fn command_line(bytes: &[u8]) -> String {
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ..", &line[..end]),
        None => line,
    }
}

fn variables(environment: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(environment);
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    let ours = pairs.filter(|(name, value)| VARIABLES.contains(name) && !value.is_empty());
    ours.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Whether the state in a `stat` file is that of a stopped process. The name before it may contain anything.
fn is_stopped(stat: &str) -> bool {
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, Some('T' | 't'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(ports: &[u16]) -> Vec<Socket> {
        ports.iter().map(|port| Socket { port: *port, inode: 1, dropped: 0 }).collect()
    }

    #[test]
    fn unconnected_sockets_are_read_from_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n  \
                     1: 00000000:1CE8 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 4711 2 ffff 12\n  \
                     2: 0100007F:1CF2 0100007F:1111 01 00000000:00000000 00:00000000 00000000  1000        0 4712 2 ffff 0\n";
        assert_eq!(sockets(table), [Socket { port: 7400, inode: 4711, dropped: 12 }]);
        assert_eq!(sockets("head\nnonsense\n"), []);
        let group = u32::from_ne_bytes([239, 255, 0, 1]);
        let table = table.replace("00000000:1CE8", &format!("{group:08X}:1CE8"));
        assert_eq!(sockets(&table), [], "a doctor listens to all groups");
    }

    #[test]
    fn domains_follow_from_ports() {
        let of = |ports: &[u16]| domains(&held(ports), 0).into_iter().collect::<Vec<_>>();
        assert_eq!(of(&[7400, 41234]), [0], "an implementation with any unicast port");
        assert_eq!(of(&[7410, 7411]), [0], "without multicast");
        assert_eq!(of(&[8650, 8660, 8661]), [5]);
        assert_eq!(of(&[7410]), [0], "one socket for everything");
        assert_eq!(of(&[8660]), [0; 0]);
        assert_eq!(of(&[5353]), [0; 0]);
        assert_eq!(of(&[39900]), [0; 0], "any program may get this port");
        assert_eq!(of(&[39900, 39910]), [130]);
        assert_eq!(domains(&held(&[39900]), 130).len(), 1);
    }

    #[test]
    fn details_are_read_from_proc() {
        assert_eq!(command_line(b"python3\0talker.py\0"), "python3 talker.py");
        assert_eq!(command_line(&[b'x'; 99]).len(), LONGEST + 3);
        let read = variables(b"HOME=/x\0ROS_DOMAIN_ID=5\0ROS_STATIC_PEERS=\0");
        assert_eq!(read.into_iter().collect::<Vec<_>>(), [("ROS_DOMAIN_ID".to_owned(), "5".to_owned())]);
        assert!(is_stopped("7 (a ) R b) T 1") && !is_stopped("7 (T) S 1") && !is_stopped(""));
    }
}
