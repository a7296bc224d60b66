//! Discovery range and named peers, here and in the processes of this host.

use runnel::{DiscoveryRange, Ros2Graph};

use super::found::{NetworkFound, RosProcess, name_of};
use crate::commands::doctor::finding::{Area, Finding};
use crate::commands::doctor::ros2::found::Ros2Found;
use crate::graphs::place;
use crate::originals::command_line::DOCTOR;
use crate::output::listed;

const RANGE: &str = "ROS_AUTOMATIC_DISCOVERY_RANGE";
const LOCALHOST_ONLY: &str = "ROS_LOCALHOST_ONLY";
const PEERS: &str = "ROS_STATIC_PEERS";

/// Number of addresses named in a finding.
const NAMED: usize = 4;

pub fn judge(network: &NetworkFound, ros2: Option<&Ros2Found>) -> Vec<Finding> {
    let graph = ros2.map(|found| &found.graph);
    let mut findings: Vec<Finding> = own_range(network, graph).into_iter().collect();
    findings.extend(peers(network, graph));
    findings.extend(network.processes_here().filter_map(|process| ranges(process, network, graph)));
    findings.extend(network.processes_here().filter_map(|process| undiscovered(process, network, graph)));
    findings
}

/// The variable that limits the range, with its value.
fn limiting(variables: &std::collections::BTreeMap<String, String>) -> Option<(&'static str, &str)> {
    if variables.get(LOCALHOST_ONLY).is_some_and(|value| value == "1") {
        return Some((LOCALHOST_ONLY, "1"));
    }
    let value = variables.get(RANGE)?;
    ["LOCALHOST", "OFF"].contains(&value.as_str()).then_some((RANGE, value))
}

/// The hosts whose participants announce themselves in this domain or were discovered.
fn other_hosts(network: &NetworkFound, graph: Option<&Ros2Graph>) -> Vec<String> {
    let announced = network.announced.iter().filter(|one| one.domain == network.domain && !one.is_same_host);
    let mut hosts: Vec<String> = announced.map(|one| one.from.to_string()).collect();
    let known = graph.into_iter().flat_map(|graph| &graph.participants).filter(|one| !one.is_same_host);
    hosts.extend(known.filter_map(|one| one.addresses.first()).map(|at| at.ip().to_string()));
    hosts.sort();
    hosts.dedup();
    hosts
}

/// The range of this process leaves out participants whose announcements arrive.
fn own_range(network: &NetworkFound, graph: Option<&Ros2Graph>) -> Option<Finding> {
    let (variable, value) = limiting(&network.variables)?;
    let hosts = other_hosts(network, graph);
    let advice = format!("unset {variable}");
    match network.range? {
        DiscoveryRange::Subnet => None,
        DiscoveryRange::Off => {
            let what = "is OFF: programs started here discover no participant, and none discovers them";
            Some(Finding::warning(Area::Network, variable, what, &advice))
        }
        DiscoveryRange::Localhost if hosts.is_empty() => None,
        DiscoveryRange::Localhost => {
            let what = format!(
                "is {value}: programs started here ignore the participants of other hosts in domain {}, here of {}",
                network.domain,
                listed(&hosts, NAMED)
            );
            Some(Finding::warning(Area::Network, variable, what, &advice))
        }
    }
}

/// Named peers that do not resolve or at which nothing is found.
fn peers(network: &NetworkFound, graph: Option<&Ros2Graph>) -> Vec<Finding> {
    let is_found = |ip: std::net::IpAddr| {
        let participants = graph.into_iter().flat_map(|graph| &graph.participants);
        ip.is_loopback() || participants.flat_map(|one| &one.addresses).any(|at| at.ip() == ip)
    };
    let finding = |(name, address): &(String, Option<std::net::IpAddr>)| match address {
        None => {
            let what = format!("names {name}, which does not resolve here");
            Some(Finding::error(Area::Network, PEERS, what, "use its address, or add the name to /etc/hosts"))
        }
        Some(ip) if is_found(*ip) => None,
        Some(_) => {
            let what = format!(
                "names {name}, where no participant of domain {} answers: none runs there, it has another \
                 ROS_DOMAIN_ID, or a firewall is in between",
                network.domain
            );
            let advice = format!("on {name}: {DOCTOR}; and let UDP ports {} through", ports(network.domain));
            Some(Finding::warning(Area::Network, PEERS, what, &advice))
        }
    };
    network.peers.iter().filter_map(finding).collect()
}

/// The ports of a domain.
pub fn ports(domain: u16) -> String {
    let first = 7400 + 250 * u32::from(domain);
    format!("{first} to {}", first + 249)
}

/// A process of this host whose range excludes others of the domain.
fn ranges(process: &RosProcess, network: &NetworkFound, graph: Option<&Ros2Graph>) -> Option<Finding> {
    let (variable, value) = limiting(&process.variables)?;
    if network.variables.get(variable).is_some_and(|own| own == value) {
        // The finding of this process says the same.
        return None;
    }
    let hosts = other_hosts(network, graph);
    let advice = format!("unset {variable} where it is started, and restart it");
    let subject = name_of(process, graph);
    if value == "OFF" {
        let what =
            format!("was started with {variable}=OFF: it discovers no participant, and none discovers it");
        return Some(Finding::error(Area::Network, subject, what, &advice));
    }
    let what = format!(
        "was started with {variable}={value}: it exchanges nothing with the participants of {}",
        listed(&hosts, NAMED)
    );
    (!hosts.is_empty()).then(|| Finding::error(Area::Network, subject, what, &advice))
}

/// A process with ports of this domain that was not discovered.
fn undiscovered(process: &RosProcess, network: &NetworkFound, graph: Option<&Ros2Graph>) -> Option<Finding> {
    let participants = || graph.into_iter().flat_map(|graph| &graph.participants);
    if process.is_stopped {
        let what = "is stopped (by Ctrl-Z or a debugger): it answers nothing";
        let advice = format!("kill -CONT {}", process.pid);
        return Some(Finding::error(Area::Network, name_of(process, graph), what, &advice));
    }
    let is_off = |variables| limiting(variables).is_some_and(|(_, value)| value == "OFF");
    if !process.is_lasting
        || participants().any(|one| process.has(one))
        || is_off(&process.variables)
        || network.range == Some(DiscoveryRange::Off)
    {
        return None;
    }
    let others: Vec<String> = participants().filter(|one| one.is_same_host).map(place).collect();
    let hint = if others.is_empty() { "no participant of this host is" } else { "others of this host are" };
    let what = format!("has ports of domain {} and is not discovered, while {hint}", network.domain);
    let advice = format!(
        "it hangs, or uses ROS_DISCOVERY_SERVER or security: look at it: cat /proc/{}/environ",
        process.pid
    );
    Some(Finding::warning(Area::Network, process.text(), what, &advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use crate::graphs::tests::graph;

    fn variables(all: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn network() -> NetworkFound {
        NetworkFound { domain: 3, range: Some(DiscoveryRange::Subnet), ..NetworkFound::default() }
    }

    fn ros2() -> Ros2Found {
        Ros2Found { graph: graph(&[("rt/a", 1, true)]), ..Ros2Found::default() }
    }

    fn process(all: &[(&str, &str)]) -> RosProcess {
        let variables = variables(all);
        RosProcess {
            pid: 7,
            command: "talker".into(),
            domain: 3,
            variables,
            ports: vec![8160],
            is_lasting: true,
            ..Default::default()
        }
    }

    fn only(network: &NetworkFound, ros2: Option<&Ros2Found>) -> Finding {
        let mut findings = judge(network, ros2);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    }

    #[test]
    fn limited_range_is_reported_if_it_excludes_someone() {
        let range = Some(DiscoveryRange::Localhost);
        let limited = NetworkFound { range, variables: variables(&[(RANGE, "LOCALHOST")]), ..network() };
        assert_eq!(judge(&limited, None), []);
        let finding = only(&limited, Some(&ros2()));
        assert_eq!(
            (finding.severity, finding.advice.as_str()),
            (Severity::Warning, "unset ROS_AUTOMATIC_DISCOVERY_RANGE")
        );
        assert!(finding.what.contains("in domain 3, here of 10.0.0.1"), "{}", finding.what);
        let off = Some(DiscoveryRange::Off);
        let off = NetworkFound { range: off, variables: variables(&[(RANGE, "OFF")]), ..network() };
        assert!(only(&off, None).what.starts_with("is OFF"));
    }

    #[test]
    fn peers_must_resolve_and_answer() {
        let unknown = NetworkFound { peers: vec![("robot".into(), None)], ..network() };
        assert!(only(&unknown, None).what.contains("robot, which does not resolve"));
        let peer = |ip: [u8; 4]| NetworkFound { peers: vec![("robot".into(), Some(ip.into()))], ..network() };
        assert_eq!(judge(&peer([10, 0, 0, 1]), Some(&ros2())), []);
        assert_eq!(judge(&peer([127, 0, 0, 1]), None), []);
        let finding = only(&peer([10, 0, 0, 9]), Some(&ros2()));
        assert!(finding.advice.ends_with("UDP ports 8150 to 8399 through"), "{}", finding.advice);
    }

    #[test]
    fn range_of_a_process_is_reported() {
        let with = |process| NetworkFound { processes: vec![process], ..network() };
        let off = only(&with(process(&[(RANGE, "OFF")])), None);
        assert_eq!((off.severity, off.subject.as_str()), (Severity::Error, "'talker' (process 7)"));
        let local = [(LOCALHOST_ONLY, "1")];
        let findings = judge(&with(process(&local)), Some(&ros2()));
        assert!(findings[0].what.contains("ROS_LOCALHOST_ONLY=1: it exchanges nothing with"), "{findings:?}");
        let other_domain = RosProcess { domain: 4, ..process(&[(RANGE, "OFF")]) };
        assert_eq!(judge(&with(other_domain), None), []);
    }

    #[test]
    fn stopped_and_undiscovered_processes_are_reported() {
        let with = |process| NetworkFound { processes: vec![process], ..network() };
        let stopped = only(&with(RosProcess { is_stopped: true, ..process(&[]) }), None);
        assert_eq!(stopped.advice, "kill -CONT 7");
        assert!(only(&with(process(&[])), None).what.contains("is not discovered, while no participant"));
        let brief = RosProcess { is_lasting: false, ..process(&[]) };
        assert_eq!(judge(&with(brief), None), [], "it may have ended, or begun just now");
        let mut found = ros2();
        found.graph.participants[0].is_same_host = true;
        found.graph.participants[0].addresses[0].set_port(8160);
        assert_eq!(judge(&with(process(&[])), Some(&found)), []);
    }
}
