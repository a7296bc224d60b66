//! Message types that nodes of the ROS 2 graph describe on request: by their service `~/get_type_description`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel::core::names::DdsTopic;
use runnel::core::schema::{DescribedType, Schema};
use runnel::{Context, EndpointInfo, EndpointType, Node, Ros2Graph};

use crate::output::listed;
use crate::ros2::described_types;

/// How long to wait for an endpoint of a type, and then for a node that describes it.
const DISCOVERY: Duration = Duration::from_secs(1);

/// Most nodes that are asked for one type.
const MOST_ASKED: usize = 3;

/// The service that describes types, behind the name of a node.
const SERVICE: &str = "get_type_description";

/// Learns message types from nodes of the ROS 2 graph.
#[derive(Clone)]
pub struct TypeLearner {
    node: Node,
}

/// Why a type could not be learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLearned {
    /// Its endpoints announce no type hash, so that no description could be checked.
    NoHash,
    /// No node that uses the type has the service. The names of these nodes.
    NoService(Vec<String>),
    /// The nodes that were asked, each with the reason.
    Refused(Vec<(String, String)>),
}

impl fmt::Display for NotLearned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHash => f.write_str("it is announced without a type hash"),
            Self::NoService(nodes) if nodes.is_empty() => f.write_str("no known node uses it"),
            Self::NoService(nodes) => {
                write!(f, "no service {SERVICE} at {}", listed(nodes, MOST_ASKED))
            }
            Self::Refused(nodes) => {
                let reasons: Vec<String> = nodes.iter().map(|(node, why)| format!("{node}: {why}")).collect();
                f.write_str(&reasons.join("; "))
            }
        }
    }
}

impl TypeLearner {
    /// A learner that asks with clients of this node.
    pub fn new(node: &Node) -> Self {
        Self { node: node.clone() }
    }

    /// The message type of this ROS 2 name and type hash. The nodes that use it are asked one after another, publishers
    /// first, until a description has that hash. This blocks until they answer.
    ///
    /// # Errors
    /// If no node describes it.
    pub fn message(&self, graph: &Ros2Graph, name: &str, hash: &str) -> Result<Arc<Schema>, NotLearned> {
        self.message_of_publisher(graph, [name, hash], "")
    }

    /// The same for a message of this node, which is asked first.
    ///
    /// # Errors
    /// If no node describes it.
    pub fn message_of_publisher(
        &self,
        graph: &Ros2Graph,
        [name, hash]: [&str; 2],
        publisher: &str,
    ) -> Result<Arc<Schema>, NotLearned> {
        if hash.is_empty() {
            return Err(NotLearned::NoHash);
        }
        let mut users = users(graph, name, hash);
        // The sort is stable: the others keep their order.
        users.sort_by_key(|node| node != publisher);
        let asked = users.iter().filter(|node| has_service(graph, node)).take(MOST_ASKED);
        let mut refused = Vec::new();
        for node in asked {
            match self.ask(graph, node, name, hash) {
                Ok(schema) => return Ok(schema),
                Err(why) => refused.push((node.clone(), why)),
            }
        }
        Err(if refused.is_empty() { NotLearned::NoService(users) } else { NotLearned::Refused(refused) })
    }

    /// The message type of this ROS 2 name that an endpoint of a topic announces. This also blocks until such an endpoint
    /// is discovered.
    ///
    /// # Errors
    /// If there is none, or no node describes the type.
    pub fn message_of_topic(
        &self,
        context: &Context,
        topic: &str,
        name: &str,
    ) -> Result<Arc<Schema>, NotLearned> {
        let hash_in = |graph: &Ros2Graph| announced_hash(graph, topic, name);
        let found = context.wait_for_ros2_graph(DISCOVERY, |graph| hash_in(graph).is_some());
        let graph = found.and_then(|_| context.ros2_graph()).ok().flatten().unwrap_or_default();
        let hash = hash_in(&graph).ok_or_else(|| NotLearned::NoService(Vec::new()))?;
        // What is announced last may be the service.
        let has_described =
            |graph: &Ros2Graph| users(graph, name, &hash).iter().any(|node| has_service(graph, node));
        let _ = context.wait_for_ros2_graph(DISCOVERY, has_described);
        let graph = context.ros2_graph().ok().flatten().unwrap_or(graph);
        self.message(&graph, name, &hash)
    }

    fn ask(&self, graph: &Ros2Graph, node: &str, name: &str, hash: &str) -> Result<Arc<Schema>, String> {
        checked_types(&self.node, graph, node, [name, hash]).map(|(schema, _)| schema)
    }
}

/// The type of this name and hash as a node describes it, first as a schema, and with the types that it uses.
///
/// # Errors
/// Why there is no description with that hash.
pub fn checked_types(
    asker: &Node,
    graph: &Ros2Graph,
    node: &str,
    [name, hash]: [&str; 2],
) -> Result<(Arc<Schema>, Vec<DescribedType>), String> {
    let types = described_types(asker, graph, node, hash);
    let types = types.map_err(|error| format!("{error} (does it spin?)"))?;
    Ok((described(&types, name, hash)?, types))
}

/// The schema of a description, if it has this hash.
fn described(types: &[DescribedType], name: &str, hash: &str) -> Result<Arc<Schema>, String> {
    let schema = Schema::from_description(name, types)
        .map_err(|error| format!("its description is malformed: {error}"))?;
    match schema.rihs01() {
        Some(known) if known == hash => Ok(schema),
        known => Err(format!("its description has type hash {}, not {hash}", known.unwrap_or_default())),
    }
}

/// The nodes of other processes with an endpoint of this type, publishers first.
fn users(graph: &Ros2Graph, name: &str, hash: &str) -> Vec<String> {
    let is_own = |end: &EndpointInfo| graph.participant(end.gid).is_some_and(|one| one.is_own);
    let is_of_type = |end: &&EndpointInfo| end.type_hash.as_deref() == Some(hash) && end.ros_type() == name;
    let mut nodes: BTreeMap<&str, bool> = BTreeMap::new();
    for end in graph.endpoints.iter().filter(is_of_type).filter(|end| !is_own(end)) {
        if let Some(node) = end.node.as_deref() {
            *nodes.entry(node).or_default() |= end.endpoint_type == EndpointType::Publisher;
        }
    }
    let (publishers, others): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|(_, publishes)| *publishes);
    publishers.into_iter().chain(others).map(|(node, _)| node.to_owned()).collect()
}

/// The hash that an endpoint of a topic announces for the type of this name.
fn announced_hash(graph: &Ros2Graph, topic: &str, name: &str) -> Option<String> {
    let is_of_topic =
        |end: &&EndpointInfo| end.ros_topic() == Some(DdsTopic::Topic(topic)) && end.ros_type() == name;
    graph.endpoints.iter().filter(is_of_topic).find_map(|end| end.type_hash.clone())
}

fn has_service(graph: &Ros2Graph, node: &str) -> bool {
    let is_server = |end: &EndpointInfo| match end.ros_topic() {
        Some(DdsTopic::ServiceRequest(name)) => {
            let own = name.strip_suffix(SERVICE).and_then(|rest| rest.strip_suffix('/'));
            end.endpoint_type == EndpointType::Subscription && own == Some(node)
        }
        _ => false,
    };
    graph.endpoints.iter().any(is_server)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::{gid, graph};
    use runnel::core::schema::{DescribedField, TypeDescription};

    const NAME: &str = "std_msgs/msg/String";

    #[test]
    fn publishers_with_the_service_are_asked_first() {
        let mut graph = graph(&[
            ("rt/a", 1, false),
            ("rt/a", 2, true),
            ("rt/b", 3, true),
            ("rq/node2/get_type_descriptionRequest", 2, false),
            ("rq/node1/get_type_descriptionRequest", 2, true),
            ("rq/node3/other/get_type_descriptionRequest", 3, false),
        ]);
        assert_eq!(users(&graph, NAME, "RIHS01_ab"), ["/node2", "/node3", "/node1"]);
        graph.participants.iter_mut().for_each(|one| one.is_own = one.gid == gid(2, 0).participant());
        assert_eq!(users(&graph, NAME, "RIHS01_ab"), ["/node3", "/node1"], "the command itself is not asked");
        assert_eq!(users(&graph, NAME, "RIHS01_cd"), [""; 0]);
        assert_eq!(announced_hash(&graph, "/a", NAME).as_deref(), Some("RIHS01_ab"));
        assert_eq!(announced_hash(&graph, "/a", "std_msgs/msg/Bool"), None);
        assert_eq!(announced_hash(&graph, "/c", NAME), None);
        assert_eq!(
            ["/node1", "/node2", "/node3"].map(|node| has_service(&graph, node)),
            [false, true, false]
        );
    }

    #[test]
    fn only_description_with_the_announced_hash_is_taken() {
        let described_string = TypeDescription::of_message(NAME, "string data\n").expect("sound");
        let (own, hash) = (described_string.own, described_string.hash);
        let schema = described(std::slice::from_ref(&own), NAME, &hash).expect("it is that type");
        assert_eq!(schema.def.fields[0].name, "data");
        let other = described(std::slice::from_ref(&own), NAME, "RIHS01_ab").expect_err("another type");
        assert!(other.starts_with("its description has type hash RIHS01_df66"), "{other}");
        let field = DescribedField { type_id: 12, ..own.fields[0].clone() };
        let wrong = [DescribedType { fields: vec![field], ..own }];
        let why = described(&wrong, NAME, &hash).expect_err("a type of C");
        assert!(why.starts_with("its description is malformed: field data"), "{why}");
    }

    #[test]
    fn reason_names_the_nodes() {
        let nodes = vec!["/a".to_owned(), "/b".to_owned()];
        assert_eq!(NotLearned::NoService(nodes).to_string(), "no service get_type_description at /a and /b");
        let refused = NotLearned::Refused(vec![("/a".into(), "x".into()), ("/b".into(), "y".into())]);
        assert_eq!(refused.to_string(), "/a: x; /b: y");
    }
}
