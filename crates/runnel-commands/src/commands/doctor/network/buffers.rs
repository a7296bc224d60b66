//! Receive buffers that are too small for the messages.

use super::found::{NetworkFound, name_of};
use crate::commands::doctor::finding::{Area, Finding, Severity};
use crate::commands::doctor::ros2::found::Ros2Found;

/// Share of a buffer that the kernel uses for itself: a datagram counts with its overhead.
const OVERHEAD: u64 = 2;

/// Messages up to this length need no larger buffer.
const SMALL: u64 = 64 << 10;

pub fn judge(network: &NetworkFound, ros2: Option<&Ros2Found>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = too_small(network, ros2).into_iter().collect();
    let dropping = network.processes_here().filter(|process| process.dropped > 0);
    findings.extend(dropping.map(|process| {
        let what = format!(
            "the kernel has dropped {} datagrams to it since its receive buffer was full: samples were lost or had to be \
             sent again",
            process.dropped
        );
        let needed = network.buffers.map_or(SMALL << 7, |buffers| (buffers.most * 4).max(SMALL << 7));
        let subject = name_of(process, ros2.map(|found| &found.graph));
        let severity = if process.is_dropping { Severity::Warning } else { Severity::Info };
        Finding::new(severity, Area::Network, subject, what, &sysctl(needed))
    }));
    findings
}

/// The largest message that was received is larger than a receive buffer may be.
fn too_small(network: &NetworkFound, ros2: Option<&Ros2Found>) -> Option<Finding> {
    let largest = ros2?.largest.iter().max_by_key(|message| message.bytes)?;
    let buffers = network.buffers?;
    let bytes = largest.bytes as u64;
    // Fast DDS leaves the default; others ask for the limit.
    let smallest = buffers.most.min(buffers.default);
    if bytes <= SMALL || bytes * OVERHEAD <= smallest {
        return None;
    }
    let what = format!(
        "{} sends messages of {bytes} bytes, and receive buffers of this host have {} bytes (net.core.rmem_default) and at \
         most {} (net.core.rmem_max): a burst of fragments overflows them",
        largest.node, buffers.default, buffers.most
    );
    Some(Finding::warning(
        Area::Network,
        &largest.topic,
        what,
        &sysctl((bytes * OVERHEAD * 2).max(SMALL << 7)),
    ))
}

fn sysctl(bytes: u64) -> String {
    let bytes = bytes.next_power_of_two();
    format!(
        "sudo sysctl -w net.core.rmem_max={bytes} net.core.rmem_default={bytes}, and restart the receivers"
    )
}

#[cfg(test)]
mod tests {
    use super::super::found::{Buffers, RosProcess};
    use super::*;
    use crate::commands::doctor::ros2::found::LargestMessage;

    fn findings(bytes: usize, most: u64, default: u64) -> Vec<Finding> {
        let largest = vec![LargestMessage { topic: "/image".into(), node: "/camera".into(), bytes }];
        let ros2 = Ros2Found { largest, ..Ros2Found::default() };
        let buffers = Some(Buffers { most, default });
        judge(&NetworkFound { buffers, ..NetworkFound::default() }, Some(&ros2))
    }

    #[test]
    fn message_larger_than_a_buffer_is_reported() {
        assert_eq!(findings(60_000, 1000, 1000), [], "it is small");
        assert_eq!(findings(1_000_000, 4 << 20, 4 << 20), []);
        let small = findings(1_000_000, 4 << 20, 212_992);
        assert_eq!(small[0].subject, "/image");
        assert!(small[0].what.contains("/camera sends messages of 1000000 bytes"), "{small:?}");
        assert!(small[0].advice.starts_with("sudo sysctl -w net.core.rmem_max=8388608 "), "{small:?}");
    }

    #[test]
    fn dropped_datagrams_of_a_process_are_reported() {
        let process = RosProcess { pid: 7, command: "listener".into(), dropped: 3, ..RosProcess::default() };
        let network = NetworkFound { processes: vec![process], ..NetworkFound::default() };
        let findings = judge(&network, None);
        assert_eq!((findings.len(), findings[0].subject.as_str()), (1, "'listener' (process 7)"));
        assert!(findings[0].what.contains("dropped 3 datagrams"), "{findings:?}");
        assert_eq!(findings[0].severity, Severity::Info, "it may be long ago");
        let mut network = network;
        network.processes[0].is_dropping = true;
        assert_eq!(judge(&network, None)[0].severity, Severity::Warning);
    }
}
