//! Multicast that does not work, by interface and direction.

use runnel::{DiscoveryRange, ParticipantInfo};

use super::found::{InterfaceProbe, NetworkFound};
use crate::commands::doctor::finding::{Area, Finding};
use crate::commands::doctor::ros2::found::Ros2Found;

/// How to let multicast through a firewall, as ROS 2 documents it.
const FIREWALL: &str =
    "sudo ufw allow in proto udp to 224.0.0.0/4 && sudo ufw allow in proto udp from 224.0.0.0/4";

/// Implementations that announce themselves by multicast at least every three seconds.
const FREQUENT: [&str; 2] = ["Fast DDS", "Runnel"];

pub fn judge(network: &NetworkFound, ros2: Option<&Ros2Found>) -> Vec<Finding> {
    if matches!(network.range, None | Some(DiscoveryRange::Off)) {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = network.interfaces.iter().filter_map(own).collect();
    let works = network.interfaces.iter().any(|interface| interface.returned);
    if works && network.range == Some(DiscoveryRange::Subnet) {
        let participants = ros2.into_iter().flat_map(|found| &found.graph.participants);
        findings.extend(participants.filter_map(|one| multicast_not_received(one, network, ros2)));
    }
    findings
}

/// Multicast of this host by an interface does not come back.
fn own(interface: &InterfaceProbe) -> Option<Finding> {
    let InterfaceProbe { name, address, error, returned } = interface;
    let subject = format!("{name} ({address})");
    let (what, advice) = match error {
        Some(why) => {
            let what = format!("multicast cannot be sent by this interface: {why}");
            let advice = format!(
                "look for a firewall that drops it (sudo nft list ruleset), or: sudo ip link set {name} multicast on"
            );
            (what, advice)
        }
        None if !returned => {
            let what = "multicast sent by this interface does not arrive, not even on this host: participants do not find \
                        each other";
            (what.to_owned(), FIREWALL.to_owned())
        }
        None => return None,
    };
    Some(Finding::error(Area::Network, subject, what, &advice))
}

/// A participant of another host that was discovered, but not by multicast.
fn multicast_not_received(
    participant: &ParticipantInfo,
    network: &NetworkFound,
    ros2: Option<&Ros2Found>,
) -> Option<Finding> {
    let prefix = participant.gid.0[..12].to_vec();
    let is_received = network.announced.iter().any(|one| one.prefix[..] == prefix[..]);
    let expected =
        FREQUENT.contains(&participant.vendor.as_str()) && !participant.is_same_host && participant.answers;
    if is_received || !expected {
        return None;
    }
    let at = participant.addresses.first().map_or(String::new(), |at| at.ip().to_string());
    let what = format!(
        "no multicast of it arrives here from {at}, only unicast: participants of the two hosts find each other late or not \
         at all"
    );
    let advice = format!(
        "on both hosts: {FIREWALL}; or name the hosts in ROS_STATIC_PEERS on both; it may be intended"
    );
    Some(Finding::info(Area::Network, ros2?.nodes_of(participant), what, &advice))
}

#[cfg(test)]
mod tests {
    use super::super::found::AnnouncedParticipant;
    use super::*;
    use crate::graphs::tests::graph;

    fn network(error: Option<&str>, returned: bool) -> NetworkFound {
        let probe = InterfaceProbe {
            name: "eth0".into(),
            address: [10, 0, 0, 7].into(),
            error: error.map(str::to_owned),
            returned,
        };
        NetworkFound {
            interfaces: vec![probe],
            range: Some(DiscoveryRange::Subnet),
            ..NetworkFound::default()
        }
    }

    #[test]
    fn each_direction_of_multicast_is_judged() {
        assert_eq!(judge(&network(None, true), None), []);
        let lost = judge(&network(None, false), None);
        assert_eq!((lost[0].subject.as_str(), lost[0].advice.as_str()), ("eth0 (10.0.0.7)", FIREWALL));
        let refused = judge(&network(Some("Operation not permitted"), false), None);
        assert!(refused[0].what.ends_with("Operation not permitted"), "{refused:?}");
        let off = NetworkFound { range: Some(DiscoveryRange::Off), ..network(None, false) };
        assert_eq!(judge(&off, None), []);
    }

    #[test]
    fn host_that_is_only_reached_by_unicast_is_an_info() {
        let found = Ros2Found { graph: graph(&[("rt/a", 1, true)]), ..Ros2Found::default() };
        let mut network = network(None, true);
        let findings = judge(&network, Some(&found));
        assert!(findings.len() == 1 && findings[0].what.contains("from 10.0.0.1"), "{findings:?}");
        let prefix = found.graph.participants[0].gid.0[..12].try_into().unwrap();
        network.announced.push(AnnouncedParticipant {
            domain: 0,
            from: [10, 0, 0, 1].into(),
            prefix,
            is_same_host: false,
        });
        assert_eq!(judge(&network, Some(&found)), []);
    }
}
