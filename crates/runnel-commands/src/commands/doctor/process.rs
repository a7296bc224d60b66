//! What may be wrong with this process: its variables, and its way to the master.

use runnel::io::lookup::is_loopback;

use super::finding::{Area, Finding};
use super::found::{Here, MasterFound, Ros2Found, StatedHost, Trouble};

/// What a user without a master can do.
const START: &str = "start one with 'runnel master', or set ROS_MASTER_URI to the one that runs";

pub fn judge(here: &Here) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(why) = &here.malformed {
        let (who, what) = why.split_once(": ").unwrap_or(("this process", why));
        findings.push(Finding::error(Area::Here, who, what, "set it anew; nothing else was looked at"));
    }
    findings.extend(here.master.as_ref().and_then(|master| master_trouble(master, here)));
    findings.extend(here.ros2.iter().flat_map(ros2));
    if let Some(stated) = &here.stated {
        findings.extend(stated_trouble(stated, here.master.as_ref()));
    }
    let answers = here.master.as_ref().is_some_and(|master| master.trouble.is_none());
    if answers && !here.master_named {
        let what = "not set: the master of this host is used";
        let advice = "fine on a single host; with several, set it on each to the same master";
        findings.push(Finding::info(Area::Here, "ROS_MASTER_URI", what, advice));
    }
    findings
}

/// Pairs that do not match, and that nothing else is looked at.
fn ros2(found: &Ros2Found) -> Vec<Finding> {
    let advice = "let both ends have one type and QoS that match; 'runnel topic info -v' shows both";
    let pair = |(topic, why): &(String, String)| Finding::error(Area::Topic, topic, why, advice);
    let mut findings: Vec<Finding> = found.mismatches.iter().map(pair).collect();
    let what = format!("{}: only looked at for pairs that do not match", found.participants);
    let advice = "'runnel node list' and 'runnel topic info -v' show more";
    findings.push(Finding::info(Area::Here, "ROS 2", what, advice));
    findings
}

/// A master that does not answer. Nobody needs one that nobody named while there are nodes of ROS 2.
fn master_trouble(master: &MasterFound, here: &Here) -> Option<Finding> {
    let trouble = master.trouble.as_ref()?;
    let mut what = trouble.about(&master.uri);
    if !here.master_named {
        what += " (ROS_MASTER_URI is not set)";
    }
    if !here.master_named && here.ros2.is_some() {
        return Some(Finding::info(Area::Here, "master", what, "only nodes of ROS 1 need one"));
    }
    let advice = match trouble {
        Trouble::Unresolved { .. } => "use its address in ROS_MASTER_URI, or add the name to /etc/hosts",
        Trouble::Unreachable(_) => "check the network of this host, and the address in ROS_MASTER_URI",
        Trouble::Silent => "is the host on, and does a firewall let its port through?",
        Trouble::Mute => "it is stopped or hangs: look at its process, or start it again",
        Trouble::Nonsense(_) => "something else has its port: does ROS_MASTER_URI name the right one?",
        _ => START,
    };
    Some(Finding::error(Area::Here, "master", what, advice))
}

fn stated_trouble(stated: &StatedHost, master: Option<&MasterFound>) -> Option<Finding> {
    let StatedHost { variable, host, address, own } = stated;
    let error = |what: String, advice: &str| Some(Finding::error(Area::Here, *variable, what, advice));
    let address = match address {
        Ok(address) => address,
        Err(why) => {
            let advice = "others could not reach nodes started here: set ROS_IP to an address of this host";
            return error(format!("the host name {host} does not resolve: {why}"), advice);
        }
    };
    if !own {
        let named = if host == &address.to_string() { String::new() } else { format!(" ({address})") };
        let advice = "others could not reach nodes started here: correct or unset it";
        return error(format!("{host}{named} is no address of this host"), advice);
    }
    let elsewhere = master.is_some_and(|master| master.address.is_some() && !master.own);
    if elsewhere && is_loopback(host) {
        let advice = "nodes started here could not be reached from there: set it to an address of this host";
        return error(format!("{host} is this host alone, but the master is on another"), advice);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;

    fn master(trouble: Option<Trouble>) -> MasterFound {
        let address = Some([10, 0, 0, 1].into());
        MasterFound { uri: "http://10.0.0.1:11311/".into(), address, own: false, trouble }
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
    fn nothing_is_wrong_with_a_process_that_says_what_it_should() {
        assert_eq!(judge(&here()), []);
        assert_eq!(judge(&stated("10.0.0.2", Ok([10, 0, 0, 2]), true)), []);
    }

    #[test]
    fn a_master_that_does_not_answer_is_told_with_the_reason() {
        let troubles = [
            (Trouble::Refused, "nobody listens at http://10.0.0.1:11311/"),
            (Trouble::Silent, "nothing comes back"),
            (Trouble::Mute, "does not answer"),
            (Trouble::Unreachable("no route".into()), "no way to http://10.0.0.1:11311/: no route"),
            (Trouble::Nonsense("404".into()), "404"),
            (Trouble::Unresolved { host: "robot".into(), why: "unknown".into() }, "robot"),
        ];
        for (trouble, said) in troubles {
            let found = only(&Here { master: Some(master(Some(trouble))), ..here() });
            assert!(found.severity == Severity::Error && found.what.contains(said), "{found:?}");
        }
    }

    #[test]
    fn an_unset_master_is_worth_a_word() {
        let found = only(&Here { master_named: false, ..here() });
        assert_eq!((found.severity, found.who.as_str()), (Severity::Info, "ROS_MASTER_URI"));
        let unset = Here { master_named: false, master: Some(master(Some(Trouble::Refused))), ..here() };
        assert!(only(&unset).what.contains("ROS_MASTER_URI is not set"));
    }

    #[test]
    fn pairs_that_do_not_match_in_ros_2_are_errors() {
        let participants = "2 participants of ROS 2 in domain 0".to_owned();
        let found = Ros2Found { participants, topics: 1, mismatches: Vec::new() };
        let only_info = only(&Here { ros2: Some(found.clone()), ..here() });
        let expected = "2 participants of ROS 2 in domain 0: only looked at for pairs that do not match";
        assert_eq!((only_info.severity, only_info.what.as_str()), (Severity::Info, expected));
        let mismatches = vec![("/scan".to_owned(), "reliability".to_owned())];
        let findings = judge(&Here { ros2: Some(Ros2Found { mismatches, ..found }), ..here() });
        let error = findings.iter().find(|finding| finding.severity == Severity::Error).expect("an error");
        assert_eq!((error.who.as_str(), error.what.as_str()), ("/scan", "reliability"));
    }

    #[test]
    fn master_that_nobody_named_is_no_error_where_ros_2_is() {
        let master = Some(master(Some(Trouble::Refused)));
        let ros2 = Some(Ros2Found::default());
        let unnamed = Here { master_named: false, master: master.clone(), ros2: ros2.clone(), ..here() };
        assert!(judge(&unnamed).iter().all(|finding| finding.severity == Severity::Info));
        let named = Here { master, ros2, ..here() };
        assert!(judge(&named).iter().any(|finding| finding.severity == Severity::Error));
    }

    #[test]
    fn what_is_malformed_is_named() {
        let found = only(&Here { malformed: Some("ROS_IP: \"a b\" is none".into()), ..Here::default() });
        assert_eq!((found.who.as_str(), found.what.as_str()), ("ROS_IP", "\"a b\" is none"));
    }

    #[test]
    fn a_stated_host_must_be_this_one_and_reachable() {
        assert!(only(&stated("robot", Err("unknown"), false)).what.contains("does not resolve"));
        assert_eq!(
            only(&stated("10.0.0.9", Ok([10, 0, 0, 9]), false)).what,
            "10.0.0.9 is no address of this host"
        );
        assert!(only(&stated("robot", Ok([10, 0, 0, 9]), false)).what.contains("robot (10.0.0.9)"));
        assert!(only(&stated("localhost", Ok([127, 0, 0, 1]), true)).what.contains("another"));
        let mut same_host = stated("127.0.0.1", Ok([127, 0, 0, 1]), true);
        same_host.master = Some(MasterFound { own: true, ..master(None) });
        assert_eq!(judge(&same_host), []);
    }
}
