//! Faults of topics: ends of different types, publishers that refuse, misspelt names.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Area, Finding, Severity, shell_word};
use super::found::{GraphFound, NodeFound, Offer, Offered, Refusal, ServerFault};
use super::gather::CLOCK;
use crate::commands::bridge::is_report_topic;
use crate::originals::command_line::TOPIC_INFO;
use crate::output::listed;
use crate::similar::is_similar;

/// Number of nodes or topics named in a finding.
const NAMED: usize = 6;

/// Topics that may have only one end.
const ONE_ENDED_TOPICS: [&str; 4] = ["/rosout", "/rosout_agg", "/statistics", "/parameter_events"];

/// The nodes that use each type.
type Types<'g> = BTreeMap<&'g str, Vec<&'g str>>;

pub fn judge(graph: &GraphFound) -> Vec<Finding> {
    let topics = graph.state.topics();
    let mut findings: Vec<Finding> = topics.iter().filter_map(|topic| types_differ(topic, graph)).collect();
    findings.extend(topics.iter().filter_map(|topic| sums_differ(topic, graph)));
    findings.extend(graph.offers.iter().filter_map(refused));
    findings.extend(unmatched(graph, ""));
    findings
}

/// The types at both ends of a topic, as the nodes report them.
fn types<'g>(topic: &str, graph: &'g GraphFound) -> (Types<'g>, Types<'g>) {
    let published = |node: &'g NodeFound| node.publications.as_ref();
    let subscribed = |node: &'g NodeFound| node.subscriptions.as_ref();
    (
        types_of(topic, graph, graph.publishers(topic), published),
        types_of(topic, graph, graph.subscribers(topic), subscribed),
    )
}

fn types_of<'g>(
    topic: &str,
    graph: &'g GraphFound,
    names: &'g [String],
    topics: impl Fn(&'g NodeFound) -> Option<&'g BTreeMap<String, String>>,
) -> Types<'g> {
    let mut types = Types::new();
    for name in names {
        let node = graph.answering(name).and_then(&topics);
        if let Some(of) =
            node.and_then(|topics| topics.get(topic)).filter(|of| !matches!(of.as_str(), "" | "*"))
        {
            types.entry(of).or_default().push(name);
        }
    }
    types
}

/// Whether a publisher and a subscriber report different types; false if one reports none.
pub fn have_different_types(topic: &str, publisher: &str, subscriber: &str, graph: &GraphFound) -> bool {
    let (published, subscribed) = types(topic, graph);
    let of = |types: &Types<'_>, node: &str| {
        types.iter().find(|(_, nodes)| nodes.contains(&node)).map(|(name, _)| (*name).to_owned())
    };
    let ends = of(&published, publisher).zip(of(&subscribed, subscriber));
    ends.is_some_and(|(published, subscribed)| published != subscribed)
}

fn types_differ(topic: &str, graph: &GraphFound) -> Option<Finding> {
    let (published, subscribed) = types(topic, graph);
    let all: BTreeSet<&str> = published.keys().chain(subscribed.keys()).copied().collect();
    if all.len() < 2 {
        return None;
    }
    let side = |types: &Types<'_>, word: &str| {
        let of = |(of, nodes): (&&str, &Vec<&str>)| format!("{} {word} {of}", listed(nodes, NAMED));
        types.iter().map(of).collect::<Vec<_>>()
    };
    let ends = [side(&published, "publishes"), side(&subscribed, "subscribes to")].concat();
    let severity = if published.is_empty() { Severity::Warning } else { Severity::Error };
    let what = format!("the types differ: {}", ends.join("; "));
    let advice = "nodes of different types do not connect: correct one, or remap its topic";
    Some(Finding::new(severity, Area::Topic, topic, what, advice))
}

/// Publishers of one type name with different definitions.
fn sums_differ(topic: &str, graph: &GraphFound) -> Option<Finding> {
    let offers = graph.offers.iter().filter(|offer| offer.topic == topic);
    let answers: Vec<(&str, &Offered)> =
        offers.filter_map(|offer| Some((offer.node.as_str(), offer.answer.as_ref().ok()?))).collect();
    let sums = |name: &str| -> BTreeMap<&str, Vec<&str>> {
        let mut sums: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (node, offered) in
            answers.iter().filter(|(_, offered)| offered.type_name == name && offered.md5 != "*")
        {
            sums.entry(&offered.md5).or_default().push(node);
        }
        sums
    };
    let names: BTreeSet<&str> = answers.iter().map(|(_, offered)| offered.type_name.as_str()).collect();
    names.into_iter().find_map(|name| sums_of_type(topic, name, &sums(name), graph))
}

fn sums_of_type(
    topic: &str,
    name: &str,
    sums: &BTreeMap<&str, Vec<&str>>,
    graph: &GraphFound,
) -> Option<Finding> {
    let advice = "build all nodes from the same definition (see 'runnel interface md5')";
    let each = sums.iter().map(|(md5, nodes)| format!("{} has {md5}", listed(nodes, NAMED)));
    let each = each.collect::<Vec<_>>().join("; ");
    if sums.len() > 1 {
        let what = format!("the definitions of {name} differ: {each}");
        return Some(Finding::error(Area::Topic, topic, what, advice));
    }
    let known = graph.known_md5.get(name)?;
    if sums.keys().all(|md5| md5 == known) {
        return None;
    }
    let what = format!("{name} has another definition here: {each}; here it is {known}");
    Some(Finding::warning(Area::Topic, topic, what, advice))
}

fn refused(offer: &Offer) -> Option<Finding> {
    let Offer { topic, node, answer } = offer;
    let (what, advice) = match answer.as_ref().err()? {
        Refusal::Refused(why) => {
            (format!("{node} refuses subscribers: {why}"), "see what it logs; restart it")
        }
        Refusal::Port { at, fault } => {
            let advice = match fault {
                ServerFault::Unresolved { .. } => {
                    "set ROS_IP where it runs: it is the address that messages come from"
                }
                ServerFault::Silent => "a firewall passes calls but not messages, which use any port",
                _ => "restart it",
            };
            (format!("messages of {node}: {}", fault.about(at)), advice)
        }
    };
    Some(Finding::error(Area::Topic, topic, what, advice))
}

/// Topics with one end. If a similar name exists it is suggested, with `options` before the remapping; the others are
/// listed in one line.
pub fn unmatched(graph: &GraphFound, options: &str) -> Vec<Finding> {
    let one_ended = |ends: &'_ BTreeMap<String, Vec<String>>, others: &'_ BTreeMap<String, Vec<String>>| {
        let excepted =
            |topic: &str| topic == CLOCK || ONE_ENDED_TOPICS.contains(&topic) || is_report_topic(topic);
        let without = |(topic, nodes): (&String, &Vec<String>)| {
            !nodes.is_empty() && others.get(topic).is_none_or(Vec::is_empty) && !excepted(topic)
        };
        ends.iter().filter(|end| without(*end)).map(|(topic, _)| topic.clone()).collect::<Vec<_>>()
    };
    let state = &graph.state;
    let mut unused = one_ended(&state.publishers, &state.subscribers);
    let (mut findings, mut unpublished) = (Vec::new(), Vec::new());
    for topic in one_ended(&state.subscribers, &state.publishers) {
        match meant(&topic, graph, options, &mut unused) {
            Some(finding) => findings.push(finding),
            None => unpublished.push(topic),
        }
    }
    findings.extend(in_one_line(&unpublished, "subscribed to, but not published"));
    findings.extend(in_one_line(&unused, "published, but not subscribed to"));
    findings
}

/// The topic that subscribers without publisher may have meant: a topic without subscribers, which is then removed
/// from `unused`, or any other.
fn meant(topic: &str, graph: &GraphFound, options: &str, unused: &mut Vec<String>) -> Option<Finding> {
    let same_type = |other: &str| {
        let of = |topic: &str| graph.types.get(topic).map(String::as_str).filter(|of| *of != "*");
        of(topic).zip(of(other)).is_none_or(|(one, other)| one == other)
    };
    let fits = |other: &&String| is_similar(topic, other) && same_type(other);
    let pair = unused.iter().position(|other| fits(&other));
    let other = match pair {
        Some(index) => unused.remove(index),
        None => graph.state.publishers.keys().find(fits)?.clone(),
    };
    let nodes = |nodes: &[String]| listed(nodes, NAMED);
    let what = format!(
        "{} subscribed, but no node publishes; {} published by {}",
        nodes(graph.subscribers(topic)),
        if pair.is_some() { format!("{other}, which has no subscriber, is") } else { format!("{other} is") },
        nodes(graph.publishers(&other)),
    );
    let severity = if pair.is_some() { Severity::Warning } else { Severity::Info };
    let words = [topic, other.as_str()].map(shell_word).join(":=");
    let advice = format!("if both mean the same topic, start one with {options}{words}");
    Some(Finding::new(severity, Area::Topic, topic, what, &advice))
}

fn in_one_line(topics: &[String], what: &str) -> Option<Finding> {
    let first = shell_word(topics.first()?);
    let each = if topics.len() > 1 { ", and so on" } else { "" };
    Some(Finding::info(Area::Topic, listed(topics, NAMED), what, &format!("{TOPIC_INFO} {first}{each}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of `(topic, publishers, subscribers)`, each end as `node type`.
    fn graph(topics: &[(&str, &[&str], &[&str])]) -> GraphFound {
        let mut graph = GraphFound::default();
        for (topic, publishers, subscribers) in topics {
            for (ends, publishes) in [(publishers, true), (subscribers, false)] {
                for end in *ends {
                    let (name, of) = end.split_once(' ').expect("a node and a type");
                    add(&mut graph, topic, name, of, publishes);
                }
            }
        }
        graph
    }

    fn add(graph: &mut GraphFound, topic: &str, name: &str, of: &str, publishes: bool) {
        let node = graph.nodes.entry(name.to_owned()).or_default();
        let (ends, topics) = match publishes {
            true => (&mut graph.state.publishers, &mut node.publications),
            false => (&mut graph.state.subscribers, &mut node.subscriptions),
        };
        ends.entry(topic.to_owned()).or_default().push(name.to_owned());
        topics.get_or_insert_default().insert(topic.to_owned(), of.to_owned());
        if of != "*" {
            graph.types.insert(topic.to_owned(), of.to_owned());
        }
    }

    fn offer(node: &str, of: &str, md5: &str) -> Offer {
        let answer = Offered { type_name: of.into(), md5: md5.into(), ..Offered::default() };
        Offer { topic: "/t".into(), node: node.into(), answer: Ok(answer) }
    }

    fn reported(graph: &GraphFound) -> Vec<(Severity, String)> {
        let findings = judge(graph).into_iter();
        findings
            .map(|found| (found.severity, format!("{}: {} -> {}", found.subject, found.what, found.advice)))
            .collect()
    }

    fn only(graph: &GraphFound) -> (Severity, String) {
        let reported = reported(graph);
        assert_eq!(reported.len(), 1, "{reported:?}");
        reported[0].clone()
    }

    #[test]
    fn topic_with_one_type_is_sound() {
        let mut graph = graph(&[("/t", &["/a x/Y"], &["/b x/Y", "/c *"])]);
        graph.offers = vec![offer("/a", "x/Y", "1"), offer("/b", "x/Y", "1")];
        graph.known_md5.insert("x/Y".into(), "1".into());
        assert_eq!(reported(&graph), []);
    }

    #[test]
    fn ends_of_different_types_are_named() {
        let graph = graph(&[("/t", &["/a x/Y"], &["/b x/Z", "/c x/Y"])]);
        let (severity, text) = only(&graph);
        assert_eq!(severity, Severity::Error);
        assert!(text.contains("/a publishes x/Y; /c subscribes to x/Y; /b subscribes to x/Z"), "{text}");
        assert!(have_different_types("/t", "/a", "/b", &graph));
        assert!(!have_different_types("/t", "/a", "/c", &graph));
    }

    #[test]
    fn differing_definitions_are_reported_by_severity() {
        let mut graph = graph(&[("/t", &["/a x/Y", "/b x/Y"], &["/c x/Y"])]);
        graph.offers = vec![offer("/a", "x/Y", "1"), offer("/b", "x/Y", "2")];
        let (severity, text) = only(&graph);
        assert!(severity == Severity::Error && text.contains("/a has 1; /b has 2"), "{text}");
        graph.offers = vec![offer("/a", "x/Y", "1"), offer("/b", "x/Y", "1")];
        graph.known_md5.insert("x/Y".into(), "3".into());
        let (severity, text) = only(&graph);
        assert!(severity == Severity::Warning && text.contains("/a and /b has 1; here it is 3"), "{text}");
    }

    #[test]
    fn refusing_publisher_is_an_error() {
        let mut graph = graph(&[("/t", &["/a x/Y"], &["/c x/Y"])]);
        let refuse = |why| Offer { answer: Err(why), ..offer("/a", "", "") };
        graph.offers = vec![refuse(Refusal::Refused("full".into()))];
        assert!(only(&graph).1.contains("/a refuses subscribers: full"));
        graph.offers = vec![refuse(Refusal::Port { at: "robot:5".into(), fault: ServerFault::Silent })];
        let (severity, text) = only(&graph);
        assert!(
            severity == Severity::Error && text.contains("robot:5") && text.contains("firewall"),
            "{text}"
        );
    }

    #[test]
    fn misspelt_ends_of_one_topic_are_paired() {
        let graph = graph(&[("/scan", &["/a x/Y"], &[]), ("/robot/scan", &[], &["/b x/Y"])]);
        let (severity, text) = only(&graph);
        assert!(severity == Severity::Warning && text.contains("/robot/scan:=/scan"), "{text}");
    }

    #[test]
    fn used_topic_of_the_same_type_is_suggested() {
        let used = graph(&[("/scan", &["/a x/Y"], &["/c x/Y"]), ("/scam", &[], &["/b x/Y"])]);
        let (severity, text) = only(&used);
        assert!(severity == Severity::Info && text.contains("/scan is published by /a"), "{text}");
        let other = graph(&[("/scan", &["/a x/Y"], &["/c x/Y"]), ("/scam", &[], &["/b x/Z"])]);
        assert!(only(&other).1.contains("not published -> runnel"));
    }

    #[test]
    fn topics_with_one_end_share_one_line() {
        let graph = graph(&[
            ("/one", &["/a x/Y"], &[]),
            ("/another", &["/a x/Y"], &[]),
            ("/rosout", &["/a x/L"], &[]),
            ("/statistics", &[], &["/a x/S"]),
            ("/clock", &[], &["/a x/C"]),
        ]);
        let (severity, text) = only(&graph);
        assert!(severity == Severity::Info && text.starts_with("/another and /one: published"), "{text}");
    }
}
