//! Definitions of the recorded types: from the publisher, known here, or described by a node of the ROS 2 graph.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use runnel::core::schema::{Generation, Schema as TypeSchema};
use runnel::{Context, Node};
use runnel_bag::{Schema, SchemaLanguage};

use super::derived_types::derived_type;
use crate::bag::record::sink::TypeKey;
use crate::error::CliError;
use crate::learned_types::TypeLearner;
use crate::types::Types;

/// The answer to a question for a type.
#[derive(Debug)]
pub struct Answer {
    /// The type.
    pub key: TypeKey,
    /// Its definition, or why there is none.
    pub definition: Result<Schema, String>,
}

/// Finds definitions on threads of its own: one for those known here, one that asks nodes.
pub struct Definitions {
    questions: Sender<(TypeKey, String)>,
    answers: Receiver<Answer>,
}

impl Definitions {
    /// Asks with clients of this node. `load` returns the types known here. They are answered at once, while a node may
    /// take seconds to describe another.
    pub fn new(
        context: &Context,
        node: &Node,
        load: impl Fn() -> Result<Types, CliError> + Send + 'static,
    ) -> Self {
        let (questions, asked) = mpsc::channel::<(TypeKey, String)>();
        let (unknown, to_learn) = mpsc::channel::<(TypeKey, String, String)>();
        let (answered, answers) = mpsc::channel();
        let learned_answers = answered.clone();
        thread::spawn(move || {
            let mut types = None;
            for (key, topic) in asked {
                // Both threads end when the answers have no receiver.
                let is_sent = match known(&mut types, &load, &key) {
                    Err(why) if key.generation == Generation::Ros2 => unknown.send((key, topic, why)).is_ok(),
                    definition => answered.send(Answer { key, definition }).is_ok(),
                };
                if !is_sent {
                    break;
                }
            }
        });
        let (context, learner) = (context.clone(), TypeLearner::new(node));
        thread::spawn(move || {
            for (key, topic, unknown) in to_learn {
                let definition = learned(&context, &learner, &key, &topic, &unknown);
                if learned_answers.send(Answer { key, definition }).is_err() {
                    break;
                }
            }
        });
        Self { questions, answers }
    }

    /// Asks for the type of a topic.
    pub fn ask(&self, key: TypeKey, topic: String) {
        // The thread ends only with the answers' receiver.
        let _ = self.questions.send((key, topic));
    }

    /// The answers until now.
    pub fn answers(&self) -> impl Iterator<Item = Answer> {
        self.answers.try_iter()
    }
}

/// The definition as a bag stores it.
pub fn stored(schema: &TypeSchema) -> Schema {
    let language = match schema.generation {
        Generation::Ros1 => SchemaLanguage::Ros1Msg,
        Generation::Ros2 => SchemaLanguage::Ros2Msg,
    };
    Schema { language, data: schema.full_text.clone().into_bytes() }
}

/// Whether a definition has the sum that a publisher announces, or none is announced.
pub fn has_sum(schema: &TypeSchema, sum: &str) -> bool {
    let known = match schema.generation {
        Generation::Ros1 => Some(schema.md5.clone()),
        Generation::Ros2 => schema.rihs01(),
    };
    matches!(sum, "" | "*") || known.as_deref() == Some(sum)
}

fn known(
    types: &mut Option<Types>,
    load: impl Fn() -> Result<Types, CliError>,
    key: &TypeKey,
) -> Result<Schema, String> {
    let types = match types {
        Some(types) => types,
        none => none.insert(load().map_err(|error| error.to_string())?),
    };
    let schema = match types.message_in(key.generation, &key.name) {
        Err(unknown) => return derived(types, key).ok_or_else(|| unknown.to_string()),
        Ok(schema) => schema,
    };
    match has_sum(&schema, &key.sum) {
        true => Ok(stored(&schema)),
        false => Err(format!("the definition of {} known here is another one", key.name)),
    }
}

/// The definition of events of a service, or of feedback of an action, which are known here.
fn derived(types: &Types, key: &TypeKey) -> Option<Schema> {
    let derived = derived_type(types, &key.name).filter(|_| key.generation == Generation::Ros2)?;
    let is_it = key.sum.is_empty() || derived.hash.as_deref() == Some(&key.sum);
    is_it.then(|| Schema { language: SchemaLanguage::Ros2Msg, data: derived.full_text.into_bytes() })
}

fn learned(
    context: &Context,
    learner: &TypeLearner,
    key: &TypeKey,
    topic: &str,
    unknown: &str,
) -> Result<Schema, String> {
    let learned = learner.message_of_topic(context, topic, &key.name);
    let schema = learned.map_err(|why| format!("{unknown}. It cannot be learned from the graph: {why}"))?;
    match has_sum(&schema, &key.sum) {
        true => Ok(stored(&schema)),
        false => Err(format!("{unknown}. The graph describes another definition")),
    }
}
