//! Faults of the network between the soak's processes.

use std::net::SocketAddr;
use std::process::Command;

/// Faults of datagrams while a rule exists. Senders are not informed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagrams {
    /// All are dropped.
    Cut,
    /// One in five is dropped.
    Lossy,
}

/// Begins a fault of datagrams.
pub fn disturb(datagrams: Datagrams) {
    restore();
    nft("add table inet soak").unwrap();
    nft("add chain inet soak in { type filter hook input priority 0; }").unwrap();
    let which = match datagrams {
        Datagrams::Cut => "",
        Datagrams::Lossy => "numgen random mod 100 < 20 ",
    };
    nft(&format!("add rule inet soak in meta l4proto udp {which}drop")).unwrap();
}

/// Ends the fault.
pub fn restore() {
    // Without a fault there is no table.
    let _ = nft("delete table inet soak");
}

fn nft(line: &str) -> Result<(), String> {
    let done = Command::new("nft").arg(line).output().expect("nft");
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// Resets the connections that a process has accepted at this address, at both ends. Returns their number.
pub fn kill_connections(listening: SocketAddr) -> usize {
    let mut command = Command::new("ss");
    command.args(["-K", "-t", "-H", "state", "established", "sport", "=", &format!(":{}", listening.port())]);
    let done = command.output().expect("ss, of iproute2");
    assert!(done.status.success(), "ss -K: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).lines().count()
}
