//! Faults of this process: its variables, and its connection to the master.

use runnel_io::lookup::is_loopback;

use super::finding::{Area, Finding};
use super::found::{Here, MasterFound, ServerFault, StatedHost};

/// Advice for users without a master.
const START: &str = "start one with 'runnel master', or set ROS_MASTER_URI to the one that runs";

/// Advice for users without a ROS 2 participant.
const START_ROS2: &str = "start a node; if one runs, compare its ROS_DOMAIN_ID, ROS_AUTOMATIC_DISCOVERY_RANGE and \
                          RMW_IMPLEMENTATION with those here";

pub fn judge(here: &Here) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(why) = &here.malformed {
        let (subject, what) = why.split_once(": ").unwrap_or(("this process", why));
        findings.push(Finding::error(Area::Here, subject, what, "correct it; nothing else was checked"));
    }
    findings.extend(here.master.as_ref().and_then(|master| master_fault(master, here)));
    if let (None, None, Some(domain)) = (&here.malformed, &here.master, here.empty_domain) {
        findings.push(Finding::error(Area::Here, "graph", no_participant(domain, here), START_ROS2));
    }
    if let Some(stated) = &here.stated {
        findings.extend(stated_fault(stated, here.master.as_ref()));
    }
    let answers = here.master.as_ref().is_some_and(|master| master.fault.is_none());
    if answers && !here.master_named {
        let what = "not set: the master of this host is used";
        let advice = "fine on a single host; with several, set it on each to the same master";
        findings.push(Finding::info(Area::Here, "ROS_MASTER_URI", what, advice));
    }
    findings
}

fn no_participant(domain: u16, here: &Here) -> String {
    let except = if here.has_only_commands { ", except those of commands" } else { "" };
    format!("no ROS 2 participant in domain {domain}{except}")
}

/// A master that does not answer. It is only an info if no variable names it and there are ROS 2 participants.
fn master_fault(master: &MasterFound, here: &Here) -> Option<Finding> {
    let fault = master.fault.as_ref()?;
    let mut what = fault.about(&master.uri);
    if !here.master_named {
        what += " (ROS_MASTER_URI is not set)";
    }
    if !here.master_named && here.has_ros2 {
        return Some(Finding::info(Area::Here, "master", what, "only ROS 1 nodes need a master"));
    }
    if let Some(domain) = here.empty_domain {
        what += &format!(", and there is {}", no_participant(domain, here));
    }
    let advice = match fault {
        ServerFault::Unresolved { .. } => "use its address in ROS_MASTER_URI, or add the name to /etc/hosts",
        ServerFault::Unreachable(_) => "check the network of this host, and the address in ROS_MASTER_URI",
        ServerFault::Silent => "is the host on, and does a firewall let its port through?",
        ServerFault::Mute => "it is stopped or hangs: look at its process, or start it again",
        ServerFault::Nonsense(_) => "something else has its port: does ROS_MASTER_URI name the right one?",
        _ => START,
    };
    let advice = match here.empty_domain.filter(|_| !here.master_named) {
        Some(_) => format!("in ROS 1: {advice}; in ROS 2: {START_ROS2}"),
        None => advice.to_owned(),
    };
    Some(Finding::error(Area::Here, "master", what, &advice))
}

fn stated_fault(stated: &StatedHost, master: Option<&MasterFound>) -> Option<Finding> {
    let StatedHost { variable, host, address, own } = stated;
    let error = |what: String, advice: &str| Some(Finding::error(Area::Here, *variable, what, advice));
    let address = match address {
        Ok(address) => address,
        Err(why) => {
            let advice = "other hosts cannot reach nodes started here: set ROS_IP to an address of this host";
            return error(format!("the host name {host} does not resolve: {why}"), advice);
        }
    };
    if !own {
        let named = if host == &address.to_string() { String::new() } else { format!(" ({address})") };
        let advice = "other hosts cannot reach nodes started here: correct or unset it";
        return error(format!("{host}{named} is not an address of this host"), advice);
    }
    let is_remote = master.is_some_and(|master| master.address.is_some() && !master.own);
    if is_remote && is_loopback(host) {
        let advice = "that host cannot reach nodes started here: set it to an address of this host";
        return error(
            format!("{host} is reachable only from this host, but the master is on another"),
            advice,
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;

    fn master(fault: Option<ServerFault>) -> MasterFound {
        let address = Some([10, 0, 0, 1].into());
        MasterFound { uri: "http://10.0.0.1:11311/".into(), address, own: false, fault }
    }

    fn here() -> Here {
        Here { master_named: true, master: Some(master(None)), ..Here::default() }
    }

    fn stated(host: &str, address: Result<[u8; 4], &str>, own: bool) -> Here {
        let address = address.map(Into::into).map_err(str::to_owned);
        let stated = StatedHost { variable: "ROS_IP", host: host.into(), address, own };
        Here { stated: Some(stated), ..here() }
    }

    fn only(here: &Here) -> Finding {
        let mut findings = judge(here);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    }

    #[test]
    fn sound_process_has_no_findings() {
        assert_eq!(judge(&here()), []);
        assert_eq!(judge(&stated("10.0.0.2", Ok([10, 0, 0, 2]), true)), []);
    }

    #[test]
    fn silent_master_is_reported_with_the_reason() {
        let faults = [
            (ServerFault::Refused, "no process listens at http://10.0.0.1:11311/"),
            (ServerFault::Silent, "no reply"),
            (ServerFault::Mute, "does not answer"),
            (ServerFault::Unreachable("no route".into()), "no route to http://10.0.0.1:11311/: no route"),
            (ServerFault::Nonsense("404".into()), "404"),
            (ServerFault::Unresolved { host: "robot".into(), why: "unknown".into() }, "robot"),
        ];
        for (fault, said) in faults {
            let found = only(&Here { master: Some(master(Some(fault))), ..here() });
            assert!(found.severity == Severity::Error && found.what.contains(said), "{found:?}");
        }
    }

    #[test]
    fn unset_master_uri_is_an_info() {
        let found = only(&Here { master_named: false, ..here() });
        assert_eq!((found.severity, found.subject.as_str()), (Severity::Info, "ROS_MASTER_URI"));
        let unset = Here { master_named: false, master: Some(master(Some(ServerFault::Refused))), ..here() };
        assert!(only(&unset).what.contains("ROS_MASTER_URI is not set"));
    }

    #[test]
    fn unnamed_master_is_no_error_with_ros_2() {
        let master = Some(master(Some(ServerFault::Refused)));
        let unnamed = Here { master_named: false, master: master.clone(), has_ros2: true, ..here() };
        assert!(judge(&unnamed).iter().all(|finding| finding.severity == Severity::Info));
        let named = Here { master, has_ros2: true, ..here() };
        assert!(judge(&named).iter().any(|finding| finding.severity == Severity::Error));
    }

    #[test]
    fn empty_domain_is_named_with_or_without_a_master() {
        let found = only(&Here { empty_domain: Some(7), ..Here::default() });
        let text = (found.severity, found.what.as_str());
        assert_eq!(text, (Severity::Error, "no ROS 2 participant in domain 7"));
        assert!(found.advice.contains("ROS_DOMAIN_ID") && !found.advice.contains("master"), "{found:?}");
        let found = only(&Here { empty_domain: Some(7), has_only_commands: true, ..Here::default() });
        assert_eq!(found.what, "no ROS 2 participant in domain 7, except those of commands");
        let master = Some(master(Some(ServerFault::Refused)));
        let both = only(&Here { master, empty_domain: Some(7), ..Here::default() });
        let expected = "no process listens at http://10.0.0.1:11311/ (ROS_MASTER_URI is not set), and there is no ROS 2 \
                        participant in domain 7";
        assert_eq!(both.what, expected);
        assert!(both.advice.starts_with("in ROS 1: start one with 'runnel master'"), "{both:?}");
        assert!(both.advice.contains("; in ROS 2: start a node"), "{both:?}");
        let with_master = Here { empty_domain: Some(7), ..here() };
        assert_eq!(judge(&with_master), [], "a graph of ROS 1 only is sound");
    }

    #[test]
    fn malformed_variable_is_named() {
        let found = only(&Here { malformed: Some("ROS_IP: \"a b\" is none".into()), ..Here::default() });
        assert_eq!((found.subject.as_str(), found.what.as_str()), ("ROS_IP", "\"a b\" is none"));
    }

    #[test]
    fn stated_host_must_be_this_reachable_one() {
        assert!(only(&stated("robot", Err("unknown"), false)).what.contains("does not resolve"));
        assert_eq!(
            only(&stated("10.0.0.9", Ok([10, 0, 0, 9]), false)).what,
            "10.0.0.9 is not an address of this host"
        );
        assert!(only(&stated("robot", Ok([10, 0, 0, 9]), false)).what.contains("robot (10.0.0.9)"));
        assert!(only(&stated("localhost", Ok([127, 0, 0, 1]), true)).what.contains("another"));
        let mut same_host = stated("127.0.0.1", Ok([127, 0, 0, 1]), true);
        same_host.master = Some(MasterFound { own: true, ..master(None) });
        assert_eq!(judge(&same_host), []);
    }
}
