//! A network that loses, doubles and reorders datagrams, or carries none at all for a while. The kernel does it to all UDP
//! within the network that the bench runs in, which therefore must be one of loopback alone.
//!
//! ```text
//!  sendmsg ─► output: nft doubles ─► input: nft drops ─► input: iptables queues ─► recvmsg
//!                                                           └─► `bench-peer hold` lets go later ┘
//! ```

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::process::Process;
use super::room::{Place, Room};

/// What becomes of datagrams in a run, beside their loss: percent of them that come twice, percent that others overtake.
pub const DOUBLED: u32 = 5;
pub const REORDERED: u32 = 5;

/// How long what is to be overtaken is held: two or three messages of those 250 a second.
const HELD: Duration = Duration::from_millis(10);

/// How long the program that holds it may take to start.
const START: Duration = Duration::from_secs(10);

/// The number of the kernel's queue, and the name of the rules.
const QUEUE: &str = "77";
const TABLE: &str = "runnel_bench";

/// What is done to the network during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// So many percent of all datagrams are lost, each way; some are doubled and reordered.
    Lossy(u32),
    /// Nothing passes for so long.
    Cut(Duration),
}

/// A network at fault. It is whole again when this goes.
pub struct Trouble {
    /// Holds packets back, as long as this is there.
    _holder: Option<Process>,
}

impl Trouble {
    /// Has the network lose so many percent of the datagrams, beside doubling and reordering some.
    ///
    /// # Errors
    /// When the network is not the bench's own, or the kernel or a program refuses.
    pub fn lossy(percent: u32, room: &mut Room) -> Result<Self, Failure> {
        require_own_network()?;
        let program = [room.program(), "bench-peer", "hold", "--queue", QUEUE, "--milliseconds"];
        let mut program: Vec<String> = program.map(str::to_owned).to_vec();
        program.push(HELD.as_millis().to_string());
        let mut holder = room.launch("bench-peer hold", &program, Place::default())?;
        holder.line_after("ready", Instant::now() + START)?;
        let trouble = Self { _holder: Some(holder) };
        let rules = format!(
            "table ip {TABLE} {{
               chain out {{ type filter hook output priority 0
                 meta l4proto udp numgen random mod 100 < {DOUBLED} dup to 127.0.0.1 device \"lo\"
               }}
               chain in {{ type filter hook input priority -10
                 meta l4proto udp numgen random mod 100 < {percent} drop
               }}
             }}"
        );
        rule(&rules)?;
        iptables("-A")?;
        Ok(trouble)
    }

    /// Has the network carry no datagram.
    ///
    /// # Errors
    /// As [`Trouble::lossy`].
    pub fn cut() -> Result<Self, Failure> {
        require_own_network()?;
        let trouble = Self { _holder: None };
        rule(&format!(
            "table ip {TABLE} {{
               chain in {{ type filter hook input priority -10
                 meta l4proto udp drop
               }}
             }}"
        ))?;
        Ok(trouble)
    }
}

impl Drop for Trouble {
    fn drop(&mut self) {
        // What was never made need not go, and the network goes with the bench.
        let _ = rule(&format!("delete table ip {TABLE}"));
        if self._holder.is_some() {
            let _ = iptables("-D");
        }
    }
}

/// Nothing but the bench's own network is to be disturbed.
///
/// # Errors
/// When there is any interface beside loopback.
pub fn require_own_network() -> Result<(), Failure> {
    let table = fs::read_to_string("/proc/self/net/dev").map_err(Failure::missing("/proc/self/net/dev"))?;
    match others(&table).as_slice() {
        [] => Ok(()),
        others => Err(Failure::Missing(format!(
            "it disturbs the network, and that is not the bench's own: it has {} (run it as bench/README.md tells)",
            others.join(", ")
        ))),
    }
}

/// The interfaces of the kernel's table that are not loopback.
fn others(table: &str) -> Vec<&str> {
    let names = table.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    names.filter(|name| *name != "lo").collect()
}

fn rule(rules: &str) -> Result<(), Failure> {
    let mut command = Command::new("nft");
    run(command.args(["-f", "-"]), rules).map_err(Failure::missing("nft (Debian: apt-get install nftables)"))
}

/// Adds or deletes the rule that gives datagrams to who holds them back.
fn iptables(action: &str) -> Result<(), Failure> {
    let share = format!("{:.2}", f64::from(REORDERED) / 100.0);
    let mut command = Command::new("iptables");
    command.args([action, "INPUT", "-p", "udp", "-m", "statistic", "--mode", "random", "--probability"]);
    command.args([&share, "-j", "NFQUEUE", "--queue-num", QUEUE, "--queue-bypass"]);
    run(&mut command, "").map_err(Failure::missing("iptables (Debian: apt-get install iptables)"))
}

/// Runs a command that is told something; one that fails is an error with the first that it said.
fn run(command: &mut Command, told: &str) -> io::Result<()> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(told.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(said.lines().next().unwrap_or("it fails").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_interface_beside_loopback_is_named() {
        let table = "Inter-|   Receive\n face |bytes\n    lo:       0\n  eth0:  12 3\n wlan0: 4\n";
        assert_eq!(others(table), ["eth0", "wlan0"]);
        assert!(others("Inter-|\n face |\n    lo: 0\n").is_empty());
    }
}
