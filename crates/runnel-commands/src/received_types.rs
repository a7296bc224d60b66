//! Types of received messages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use runnel::core::schema::{Generation, Kind, Schema, TypeName};
use runnel::{Context, Graphs, Node, RawMessage, Ros2Graph};

use crate::error::CliError;
use crate::graphs::publishes;
use crate::learned_types::{NotLearned, TypeLearner};
use crate::types::{Types, spelt, unknown_and};

/// Most types of received messages that are kept: peers can name any number.
const MOST_RECEIVED: usize = 256;

/// How long a type counts as unknown: a node may begin to describe it later.
const UNKNOWN_FOR: Duration = Duration::from_secs(10);

/// The types of received messages: from their publishers' connection headers, or else the definition known here, if
/// it is the same, or else what nodes of the ROS 2 graph describe.
pub struct ReceivedTypes {
    types: Option<Types>,
    load: Box<dyn Fn() -> Result<Types, CliError> + Send>,
    learner: Option<(Context, TypeLearner)>,
    known: TypeCache,
    /// Publishers, types and hashes that were not found, and when.
    unknown: BTreeMap<(String, String, String), Instant>,
}

impl ReceivedTypes {
    /// `load` returns the types known here. It is called when a publisher does not define its type.
    pub fn new(load: impl Fn() -> Result<Types, CliError> + Send + 'static) -> Self {
        let (known, unknown) = (TypeCache::default(), BTreeMap::new());
        Self { types: None, load: Box::new(load), learner: None, known, unknown }
    }

    /// The same. ROS 2 types that are not known here are learned with clients of this node, which blocks
    /// [`ReceivedTypes::of`] while nodes are asked.
    #[must_use]
    pub fn learning(self, context: &Context, node: &Node) -> Self {
        Self { learner: Some((context.clone(), TypeLearner::new(node))), ..self }
    }

    /// The type of a message.
    ///
    /// # Errors
    /// When the publisher does not define it, and no definition here matches.
    pub fn of(&mut self, message: &RawMessage<'_>) -> Result<Arc<Schema>, CliError> {
        let sum = match message.generation() {
            Generation::Ros1 => message.md5(),
            Generation::Ros2 => message.type_hash(),
        };
        if let Some(schema) = self.known.get(message.type_name(), sum) {
            return Ok(schema);
        }
        let schema = match (message.generation(), from_header(message)) {
            (Generation::Ros1, Some(schema)) => schema,
            _ => self.local_type(message).or_else(|unknown| self.learned_type(message, unknown))?,
        };
        self.known.insert(message.type_name(), sum, Arc::clone(&schema));
        Ok(schema)
    }

    /// The type of a message on a topic; `None` if it is not found and messages of other types may come. This is logged
    /// once for each publisher.
    ///
    /// # Errors
    /// When it is not found, and no message of another type can be expected.
    pub fn find(&mut self, message: &RawMessage<'_>, topic: &str) -> Result<Option<Arc<Schema>>, CliError> {
        let (publisher, name, hash) = (message.publisher(), message.type_name(), message.type_hash());
        let key = (publisher.to_owned(), name.to_owned(), hash.to_owned());
        let is_known = self.known.get(name, hash).is_some();
        let failed = self.unknown.get(&key).copied();
        if !is_known && failed.is_some_and(|failed| failed.elapsed() < UNKNOWN_FOR) {
            return Ok(None);
        }
        let why = match self.of(message) {
            Ok(schema) => return Ok(Some(schema)),
            Err(why) => why,
        };
        let graph = self.learner.as_ref().and_then(|(context, _)| context.ros2_graph().ok().flatten());
        let has_others = |graph: Ros2Graph| has_other_types(&graph, topic, [name, hash]);
        if message.generation() == Generation::Ros1
            || (self.known.types.is_empty() && !graph.is_some_and(has_others))
        {
            return Err(why);
        }
        if failed.is_none() {
            log::error!(
                "message of publisher {publisher}: {why}; further such messages are skipped silently"
            );
        }
        if self.unknown.len() < MOST_RECEIVED || failed.is_some() {
            self.unknown.insert(key, Instant::now());
        }
        Ok(None)
    }

    fn local_type(&mut self, message: &RawMessage<'_>) -> Result<Arc<Schema>, CliError> {
        let types = match &mut self.types {
            Some(types) => types,
            none => none.insert((self.load)()?),
        };
        let schema = types.message_in(message.generation(), message.type_name())?;
        let (sent, known) = match message.generation() {
            Generation::Ros1 => (message.md5(), format!("MD5 {}", schema.md5)),
            Generation::Ros2 => (message.type_hash(), schema.rihs01().unwrap_or_default()),
        };
        if matches!(sent, "" | "*") || known.ends_with(sent) {
            return Ok(schema);
        }
        let (publisher, name) = (message.publisher(), message.type_name());
        Err(CliError::Failed(format!(
            "publisher {publisher} sends another definition of {name}: {sent}; here it is {known}"
        )))
    }

    /// The type as nodes of the graph describe it. An error says why it is unknown, and why it cannot be learned.
    fn learned_type(&self, message: &RawMessage<'_>, unknown: CliError) -> Result<Arc<Schema>, CliError> {
        let (Generation::Ros2, Some((context, learner))) = (message.generation(), &self.learner) else {
            return Err(unknown);
        };
        let graph = context.ros2_graph()?.unwrap_or_default();
        let asked = [message.type_name(), message.type_hash()];
        let learned = learner.message_of_publisher(&graph, asked, message.publisher());
        learned.map_err(|why| not_learned(&unknown, &why))
    }
}

/// The message type of this name as an endpoint of the topic announces it, for a user who types a name that is not known
/// here. This blocks until such an endpoint is discovered.
///
/// # Errors
/// The error `unknown`, with the reason why the type cannot be learned.
pub fn learned(
    unknown: CliError,
    node: &Node,
    topic: &str,
    type_name: &str,
) -> Result<Arc<Schema>, CliError> {
    let (context, name) = (node.context(), TypeName::parse(type_name));
    let Some(name) = name.filter(|_| context.graphs() != Graphs::Ros1) else { return Err(unknown) };
    let name = spelt(Generation::Ros2, Kind::Message, &name);
    let learned = TypeLearner::new(node).message_of_topic(context, topic, &name);
    learned.map_err(|why| not_learned(&unknown, &why))
}

/// The error for a type that is not known here and cannot be learned.
fn not_learned(unknown: &CliError, why: &NotLearned) -> CliError {
    unknown_and(unknown, &format!("It cannot be learned from the graph: {why}"))
}

/// The types of the last received messages, by name and MD5 sum of their publishers. A topic has one or a few, so a
/// linear search suffices.
#[derive(Default)]
struct TypeCache {
    types: VecDeque<((String, String), Arc<Schema>)>,
}

impl TypeCache {
    fn get(&self, name: &str, md5: &str) -> Option<Arc<Schema>> {
        let (_, schema) = self.types.iter().find(|((known, sum), _)| known == name && sum == md5)?;
        Some(Arc::clone(schema))
    }

    /// Adds a type, in place of the oldest if there are too many.
    fn insert(&mut self, name: &str, md5: &str, schema: Arc<Schema>) {
        if self.types.len() == MOST_RECEIVED {
            self.types.pop_front();
        }
        self.types.push_back(((name.to_owned(), md5.to_owned()), schema));
    }
}

/// Whether a topic has a publisher of another type, or of another definition.
fn has_other_types(graph: &Ros2Graph, topic: &str, [name, hash]: [&str; 2]) -> bool {
    let mut publishers = graph.endpoints.iter().filter(|end| publishes(end, topic));
    publishers.any(|end| end.ros_type() != name || end.type_hash.as_deref().unwrap_or_default() != hash)
}

/// The type that the connection header of a ROS 1 publisher defines, if it can be parsed.
fn from_header(message: &RawMessage<'_>) -> Option<Arc<Schema>> {
    let name = TypeName::parse(message.type_name())?;
    let parsed = Schema::from_full_text(&name, message.definition());
    let parsed = parsed.inspect_err(|error| log::warn!("publisher {}: {error}", message.publisher())).ok();
    // Without any text it may be a message without fields, or a publisher that sends no definition.
    parsed.filter(|schema| !message.definition().is_empty() || schema.md5 == message.md5())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

    #[test]
    fn other_definition_on_the_topic_is_another_type() {
        let graph = graph(&[("rt/a", 1, true), ("rt/a", 2, false), ("rt/b", 2, true)]);
        let is_other = |topic, name, hash| has_other_types(&graph, topic, [name, hash]);
        assert!(!is_other("/a", "std_msgs/msg/String", "RIHS01_ab"));
        assert!(is_other("/a", "std_msgs/msg/String", "RIHS01_cd"));
        assert!(is_other("/a", "std_msgs/msg/Bool", "RIHS01_ab"));
        assert!(!is_other("/c", "std_msgs/msg/Bool", "RIHS01_ab"), "no publisher");
    }

    #[test]
    fn newest_received_types_are_kept() {
        let types = Types::new(&[]).expect("no folder to read");
        let schema = types.message("std_msgs/String").expect("built in");
        let mut known = TypeCache::default();
        for number in 0..=MOST_RECEIVED {
            known.insert("std_msgs/String", &number.to_string(), Arc::clone(&schema));
        }
        assert_eq!(known.types.len(), MOST_RECEIVED);
        assert!(known.get("std_msgs/String", "0").is_none());
        assert!(known.get("std_msgs/String", "1").is_some() && known.get("std_msgs/Bool", "1").is_none());
    }
}
