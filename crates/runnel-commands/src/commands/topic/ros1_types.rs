//! The types that the ends of a ROS 1 topic report. The master knows only one type of a topic, that of a publisher.

use runnel_ros1::rpc::Uri;

use super::mismatch::Reason;
use crate::error::CliError;
use crate::graph::{Graph, NoAnswer, Question, read_pairs};

/// Number of pairs that are listed.
const MOST_PAIRS: usize = 20;

/// A node at one end of the topic, and its address.
pub type Holder<'a> = (&'a str, Option<&'a str>);

/// The pairs of publisher and subscriber that report different types. All nodes are asked in parallel. Nodes that
/// report no type are left out.
///
/// # Errors
/// When the context ends first.
pub fn mismatches(
    graph: &Graph<'_>,
    topic: &str,
    publishers: &[Holder<'_>],
    subscribers: &[Holder<'_>],
) -> Result<Vec<Reason>, CliError> {
    if publishers.is_empty() || subscribers.is_empty() {
        return Ok(Vec::new());
    }
    let published = types(graph, topic, publishers, "getPublications")?;
    let subscribed = types(graph, topic, subscribers, "getSubscriptions")?;
    let pairs = published.iter().flat_map(|one| subscribed.iter().map(move |other| (one, other)));
    let differing = pairs.filter(|((_, published), (_, subscribed))| published != subscribed);
    let reasons = differing.map(|((from, published), (to, subscribed))| {
        Reason::of_ros1_types([from, published], [to, subscribed])
    });
    Ok(reasons.take(MOST_PAIRS).collect())
}

/// The nodes that report a type of the topic, each with that type.
fn types<'a>(
    graph: &Graph<'_>,
    topic: &str,
    holders: &[Holder<'a>],
    method: &'static str,
) -> Result<Vec<(&'a str, String)>, CliError> {
    let asked = holders.iter().filter_map(|(node, uri)| Some((*node, Uri::parse((*uri)?).ok()?)));
    let (nodes, questions): (Vec<&str>, Vec<Question>) =
        asked.map(|(node, uri)| (node, Question { uri, method, params: Vec::new() })).unzip();
    let answers = graph.ask_all(&questions)?;
    let reported = |answer: Result<_, NoAnswer>| {
        let pairs = read_pairs(&answer.ok()?)?;
        let of_topic = pairs.into_iter().find(|(name, _)| name == topic);
        of_topic.map(|(_, of)| of).filter(|of| !matches!(of.as_str(), "" | "*"))
    };
    Ok(nodes.into_iter().zip(answers).filter_map(|(node, answer)| Some((node, reported(answer)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fake;
    use runnel_ros1::xmlrpc::Value;

    /// A node that reports this type for the topic.
    fn node(of: &str) -> String {
        let pair = |name: &str, of: &str| Value::Array(vec![name.into(), of.into()]);
        let pairs = vec![pair("/rosout", "rosgraph_msgs/Log"), pair("/t", of)];
        fake::server(vec![Some(fake::granted(Value::Array(pairs)))])
    }

    #[test]
    fn differing_types_of_a_pair_are_named() {
        let context = fake::context(Vec::new());
        let [publisher, same, other, any] = ["a/B", "a/B", "a/C", "*"].map(node);
        let dead = fake::server(Vec::new());
        let subscribers = [("/same", same), ("/other", other), ("/any", any), ("/dead", dead)];
        let subscribers = subscribers.each_ref().map(|(name, uri)| (*name, Some(uri.as_str())));
        let found = mismatches(&Graph::new(&context), "/t", &[("/p", Some(&publisher))], &subscribers);
        let lines: Vec<String> =
            found.expect("the context is open").iter().map(Reason::with_advice).collect();
        let expected = "No messages from publisher /p to subscriber /other: type mismatch: a/B and a/C. Try: one type at \
                        both ends";
        assert_eq!(lines, [expected]);
    }
}
