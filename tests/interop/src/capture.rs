//! An oracle that has never heard of Runnel: Wireshark's dissectors take apart what went over loopback.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in, free_port};
use tempfile::TempDir;

use crate::PATIENCE;
use crate::graph::start;
use crate::hearing::wait_until;
use crate::ros2_hosts::Host;

/// Submessages that a receiver knows by RTPS 2.5, 9.4.5: PAD, ACKNACK, HEARTBEAT, GAP, INFO_TS, INFO_SRC, INFO_REPLY_IP4,
/// INFO_DST, INFO_REPLY, NACK_FRAG, HEARTBEAT_FRAG, DATA, DATA_FRAG.
const SUBMESSAGES: [&str; 13] =
    ["0x01", "0x06", "0x07", "0x08", "0x09", "0x0c", "0x0d", "0x0e", "0x0f", "0x12", "0x13", "0x15", "0x16"];

/// What an interface carries, as long as this lasts.
pub struct Capture {
    process: Peer,
    folder: TempDir,
}

impl Capture {
    /// Starts to capture loopback, and returns when nothing is missed any more.
    ///
    /// # Panics
    /// Where the network is not private to the tests, or there is no `dumpcap`.
    pub fn start() -> Capture {
        Capture::run("/usr/bin/dumpcap", &["-i", "lo"])
    }

    /// Starts to capture an interface of a host.
    ///
    /// # Panics
    /// As [`Capture::start`].
    pub fn at(host: &Host, interface: &str) -> Capture {
        let target = host.keeper().to_string();
        let line = ["--target", &target, "--net", "/usr/bin/dumpcap", "-i", interface];
        Capture::run("nsenter", &line)
    }

    fn run(program: &str, words: &[&str]) -> Capture {
        require_private_network();
        let folder = TempDir::with_prefix("runnel-capture-").expect("a temporary folder");
        let mut dumpcap = Command::new(program);
        // A buffer in the kernel of so many MB, so that a burst is seen whole.
        dumpcap.args(words).args(["-q", "-B", "32", "-w"]).arg(file(&folder));
        let mut process = start("dumpcap", dumpcap);
        process.wait_for_line(|line| line.starts_with("File: "), deadline_in(PATIENCE)).unwrap();
        Capture { process, folder }
    }

    /// Ends the capture when its file has what was seen so far, which takes a moment: what came last may be missed.
    pub fn cut(mut self) -> Frames {
        self.process.signal(Signal::INT).unwrap();
        assert!(
            self.process.wait_exit(deadline_in(PATIENCE)).unwrap().success(),
            "{}",
            self.process.output()
        );
        Frames { folder: self.folder, options: Vec::new(), marker: "frame.len == 0".to_owned() }
    }

    /// Ends the capture once everything up to now is in the file, as a datagram shows that is sent now.
    pub fn end(mut self) -> Frames {
        let port = free_port();
        let marker = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        marker.send_to(b"end", (Ipv4Addr::LOCALHOST, port)).expect("sent");
        let filter = format!("udp.dstport == {port}");
        let frames = Frames { folder: self.folder, options: Vec::new(), marker: filter.clone() };
        wait_until("the capture is written", deadline_in(PATIENCE), || !frames.ask(&filter, &[]).is_empty());
        self.process.signal(Signal::INT).unwrap();
        assert!(
            self.process.wait_exit(deadline_in(PATIENCE)).unwrap().success(),
            "{}",
            self.process.output()
        );
        frames
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("capture.pcapng")
}

/// A capture that can be asked.
pub struct Frames {
    folder: TempDir,
    options: Vec<String>,
    /// What finds the datagram that ended the capture.
    marker: String,
}

impl Frames {
    /// Has tshark told more, such as what ports are for (`-d tcp.port==11311,http`).
    #[must_use]
    pub fn told(mut self, options: impl IntoIterator<Item = String>) -> Frames {
        self.options.extend(options);
        self
    }

    /// One line for each frame that passes the filter: the fields' values, with tabs between fields and commas between the
    /// values of one field, or else a summary.
    ///
    /// # Panics
    /// When tshark does not know a word.
    pub fn ask(&self, filter: &str, fields: &[&str]) -> Vec<String> {
        let mut tshark = Command::new("timeout");
        tshark.arg("300").args(["tshark", "-n", "-r"]).arg(file(&self.folder)).args(&self.options);
        // It looks into datagrams from and to 7000 and the next ports, where Fast DDS has readers, with confidence.
        tshark.args(["--disable-protocol", "rx"]);
        // Read twice, so that each frame knows in which one a message that it begins is put together.
        tshark.args(["-2", "-Y", filter]);
        if !fields.is_empty() {
            tshark.args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field]));
        }
        let output = tshark.output().expect("tshark");
        let [said, complaint] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        // Reading what is still being written is no failure but of the last frame.
        let whole = output.status.success() || complaint.contains("cut short");
        assert!(whole, "tshark {filter}: {complaint}");
        said.lines().map(str::to_owned).collect()
    }

    /// A summary of each datagram that passes the filter, such as `udp.srcport == 7410` or
    /// `rtps.guidPrefix.src == 01:0f:7f:01:...`, and is not sound RTPS in every part: something in it is malformed, or
    /// dubious to Wireshark, or no submessage of the standard's. Those of vendors (0x80 and up) are let be.
    pub fn unsound_rtps(&self, filter: &str) -> Vec<String> {
        let datagrams = format!("({filter}) && udp && !icmp && !({})", self.marker);
        // Severities from warnings on.
        let dubious = "_ws.malformed || _ws.expert.severity >= 0x00600000 || !rtps";
        let mut unsound = self.ask(&format!("{datagrams} && ({dubious})"), &[]);
        let rows = self.ask(&format!("{datagrams} && rtps"), &["rtps.sm.id", "frame.number", "_ws.col.Info"]);
        unsound.extend(rows.into_iter().filter(|row| has_unknown_submessage(row)));
        unsound
    }
}

/// Whether a row that begins with submessages has one that is not of the standard's.
fn has_unknown_submessage(row: &str) -> bool {
    let ids = row.split('\t').next().unwrap_or_default();
    ids.split(',').any(|id| id < "0x80" && !SUBMESSAGES.contains(&id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_submessages_below_those_of_vendors_must_be_known() {
        assert!(!has_unknown_submessage("0x09,0x15,0x80\t17\tINFO_TS, DATA, Unknown[80]"));
        assert!(has_unknown_submessage("0x09,0x02\t17\tINFO_TS, Unknown[02]"));
    }
}
