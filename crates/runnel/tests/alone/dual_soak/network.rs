//! The network between the soak's processes, and what goes wrong with it.

use std::net::SocketAddr;
use std::process::Command;

/// What datagrams suffer while a rule stands. Processes that send them are not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagrams {
    /// None gets through.
    Cut,
    /// One of five is lost.
    Lossy,
}

/// Has datagrams suffer this from now on.
pub fn disturb(datagrams: Datagrams) {
    mend();
    nft("add table inet soak").unwrap();
    nft("add chain inet soak in { type filter hook input priority 0; }").unwrap();
    let which = match datagrams {
        Datagrams::Cut => "",
        Datagrams::Lossy => "numgen random mod 100 < 20 ",
    };
    nft(&format!("add rule inet soak in meta l4proto udp {which}drop")).unwrap();
}

/// All datagrams get through from now on.
pub fn mend() {
    // Where nothing is wrong there is no table.
    let _ = nft("delete table inet soak");
}

fn nft(line: &str) -> Result<(), String> {
    let done = Command::new("nft").arg(line).output().expect("nft");
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// Ends the connections that a process has accepted there, by a reset at both ends; how many there were.
pub fn kill_connections(listening: SocketAddr) -> usize {
    let mut command = Command::new("ss");
    command.args(["-K", "-t", "-H", "state", "established", "sport", "=", &format!(":{}", listening.port())]);
    let done = command.output().expect("ss, of iproute2");
    assert!(done.status.success(), "ss -K: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).lines().count()
}
