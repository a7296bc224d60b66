//! A network that loses, duplicates and reorders datagrams, or carries none for a while. The kernel does this to all
//! UDP in the bench's network, which therefore must have only loopback.
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
use super::workspace::{Place, Workspace};

/// Percent of datagrams that are duplicated and reordered, in addition to the losses.
pub const DOUBLED: u32 = 5;
pub const REORDERED: u32 = 5;

/// How long a reordered datagram is held: two or three messages at 250 a second.
const HELD: Duration = Duration::from_millis(10);

/// How long the program that holds datagrams may take to start.
const START: Duration = Duration::from_secs(10);

/// The number of the kernel's queue, and the name of the table of rules.
const QUEUE: &str = "77";
const TABLE: &str = "runnel_bench";

/// A fault of the network during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This percentage of datagrams is lost in each direction; some are duplicated and reordered.
    Lossy(u32),
    /// No datagram passes for this time.
    Cut(Duration),
}

/// A network fault in effect. Dropping this value ends it.
pub struct ActiveFault {
    /// Holds packets back while it lives.
    _holder: Option<Process>,
}

impl ActiveFault {
    /// Makes the network lose this percentage of datagrams, and duplicate and reorder some.
    ///
    /// # Errors
    /// When this is not the bench's own network, or the kernel or a program refuses.
    pub fn lossy(percent: u32, workspace: &mut Workspace) -> Result<Self, Failure> {
        require_own_network()?;
        let program = [workspace.program(), "bench-peer", "hold", "--queue", QUEUE, "--milliseconds"];
        let mut program: Vec<String> = program.map(str::to_owned).to_vec();
        program.push(HELD.as_millis().to_string());
        let mut holder = workspace.launch("bench-peer hold", &program, Place::default())?;
        holder.line_after("ready", Instant::now() + START)?;
        let active_fault = Self { _holder: Some(holder) };
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
        Ok(active_fault)
    }

    /// Makes the network carry no datagram.
    ///
    /// # Errors
    /// As [`Trouble::lossy`].
    pub fn cut() -> Result<Self, Failure> {
        require_own_network()?;
        let active_fault = Self { _holder: None };
        rule(&format!(
            "table ip {TABLE} {{
               chain in {{ type filter hook input priority -10
                 meta l4proto udp drop
               }}
             }}"
        ))?;
        Ok(active_fault)
    }
}

impl Drop for ActiveFault {
    fn drop(&mut self) {
        // Errors do not matter: there may be no table yet, and the network ends with the bench.
        let _ = rule(&format!("delete table ip {TABLE}"));
        if self._holder.is_some() {
            let _ = iptables("-D");
        }
    }
}

/// Refuses to disturb any network but the bench's own.
///
/// # Errors
/// When there is any interface besides loopback.
pub fn require_own_network() -> Result<(), Failure> {
    let table = fs::read_to_string("/proc/self/net/dev").map_err(Failure::missing("/proc/self/net/dev"))?;
    match others(&table).as_slice() {
        [] => Ok(()),
        others => Err(Failure::Missing(format!(
            "this scenario disturbs the network, and this one is not the bench's own: it has {}. Try: the command in bench/README.md",
            others.join(", ")
        ))),
    }
}

/// The interfaces of the kernel's table except loopback.
fn others(table: &str) -> Vec<&str> {
    let names = table.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    names.filter(|name| *name != "lo").collect()
}

fn rule(rules: &str) -> Result<(), Failure> {
    let mut command = Command::new("nft");
    run(command.args(["-f", "-"]), rules).map_err(Failure::missing("nft (Debian: apt-get install nftables)"))
}

/// Adds or deletes the rule that queues datagrams for the program that holds them.
fn iptables(action: &str) -> Result<(), Failure> {
    let share = format!("{:.2}", f64::from(REORDERED) / 100.0);
    let mut command = Command::new("iptables");
    command.args([action, "INPUT", "-p", "udp", "-m", "statistic", "--mode", "random", "--probability"]);
    command.args([&share, "-j", "NFQUEUE", "--queue-num", QUEUE, "--queue-bypass"]);
    run(&mut command, "").map_err(Failure::missing("iptables (Debian: apt-get install iptables)"))
}

/// Runs a command with this input. If it fails, the error has its first error line.
fn run(command: &mut Command, input_text: &str) -> io::Result<()> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(input_text.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(errors.lines().next().unwrap_or("failed without a message").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_besides_loopback_are_named() {
        let table = "Inter-|   Receive\n face |bytes\n    lo:       0\n  eth0:  12 3\n wlan0: 4\n";
        assert_eq!(others(table), ["eth0", "wlan0"]);
        assert!(others("Inter-|\n face |\n    lo: 0\n").is_empty());
    }
}
