//! Finds definitions of types: built in, in folders, and in connection headers.

use std::collections::{BTreeSet, VecDeque};
use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use runnel::core::schema::{Generation, Kind, Library, ResolveError, Schema, ServiceSchema, TypeName};
use runnel::msgs;
use runnel::{Context, Node, RawMessage};

use crate::error::CliError;
use crate::learned_types::{NotLearned, TypeLearner};

/// The variables that name folders with message definitions, in ROS 1 and ROS 2.
const FOLDER_VARIABLES: [&str; 2] = ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"];

/// A package for tutorials, whose types are suggested last.
const EXAMPLES: &str = "example_interfaces";

/// Most mistyped letters for which a type is suggested.
const MOST_CHANGES: usize = 2;

/// Most types of received messages that are kept: peers can name any number.
const MOST_RECEIVED: usize = 256;

/// The known message types. Definitions are read on demand.
pub struct Types {
    library: Library,
}

impl Types {
    /// The built-in types, those in these folders, and those in the environment's folders.
    ///
    /// # Errors
    /// When one of these folders cannot be read.
    pub fn new(folders: &[PathBuf]) -> Result<Self, CliError> {
        let mut library = msgs::library();
        for folder in folders {
            let unreadable = |error| CliError::Failed(format!("folder {}: {error}", folder.display()));
            library.add_folder(folder).map_err(unreadable)?;
        }
        Ok(Self { library: library.with_environment_folders(environment_folders()) })
    }

    /// The library itself.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The names of all ROS 1 types of a kind, in order.
    pub fn names(&self, kind: Kind) -> BTreeSet<&TypeName> {
        self.names_in(Generation::Ros1, kind).collect()
    }

    /// The names of all types of a kind in a generation. In ROS 2 the parts of actions are not messages.
    pub fn names_in(&self, generation: Generation, kind: Kind) -> impl Iterator<Item = &TypeName> {
        let names = self.library.names(kind).chain(self.library.environment_names(kind));
        let are_messages = generation == Generation::Ros1;
        names
            .filter(move |name| self.library.is_in(generation, kind, name))
            .filter(move |name| are_messages || self.library.is_standalone(kind, name))
    }

    /// The names of all types of a kind in either generation, in order.
    pub fn every_name(&self, kind: Kind) -> BTreeSet<&TypeName> {
        let generations = [Generation::Ros1, Generation::Ros2];
        generations.into_iter().flat_map(|generation| self.names_in(generation, kind)).collect()
    }

    /// The generation of a type whose name does not tell it: ROS 1, if that has the type.
    pub fn home(&self, kind: Kind, name: &TypeName) -> Generation {
        let only_in_ros2 = !self.library.is_in(Generation::Ros1, kind, name)
            && self.library.is_in(Generation::Ros2, kind, name);
        if only_in_ros2 { Generation::Ros2 } else { Generation::Ros1 }
    }

    /// The message type of this name.
    ///
    /// # Errors
    /// When the name is invalid, or no definition is found.
    pub fn message(&self, name: &str) -> Result<Arc<Schema>, CliError> {
        self.library.message(&type_name(name)?).map_err(|error| self.unknown(error))
    }

    /// The same in the form of a generation.
    ///
    /// # Errors
    /// As [`Types::message`].
    pub fn message_in(&self, generation: Generation, name: &str) -> Result<Arc<Schema>, CliError> {
        self.library.message_in(generation, &type_name(name)?).map_err(|error| self.unknown(error))
    }

    /// The service type of this name.
    ///
    /// # Errors
    /// As [`Types::message`].
    pub fn service(&self, name: &str) -> Result<ServiceSchema, CliError> {
        self.library.service(&type_name(name)?).map_err(|error| self.unknown(error))
    }

    /// The error, with advice.
    pub fn unknown(&self, error: ResolveError) -> CliError {
        let ResolveError::Unknown { kind, name, required_by: None } = &error else {
            return CliError::failed(error);
        };
        CliError::Failed(match self.similar(*kind, name) {
            Some(similar) => format!("{error}: did you mean {similar}?"),
            None => format!(
                "{error} (searched: built-in types and {}). Try: --interfaces FOLDER",
                FOLDER_VARIABLES.join(", ")
            ),
        })
    }

    /// The type with the most similar name, or else a type of this name in another package.
    fn similar(&self, kind: Kind, name: &TypeName) -> Option<&TypeName> {
        let changes = |other: &TypeName| match other.name == name.name {
            true => 0,
            false => strsim::osa_distance(&other.to_string(), &name.to_string()),
        };
        let is_example = |other: &TypeName| other.package == EXAMPLES;
        let names = self.every_name(kind).into_iter().map(|other| (changes(other), is_example(other), other));
        names.filter(|(changes, ..)| *changes <= MOST_CHANGES).min().map(|(.., other)| other)
    }
}

/// The name of a type as a generation spells it: `package/Name`, or `package/msg/Name`.
pub fn spelt(generation: Generation, kind: Kind, name: &TypeName) -> String {
    match generation {
        Generation::Ros1 => name.to_string(),
        Generation::Ros2 => format!("{}/{}/{}", name.package, kind.extension(), name.name),
    }
}

/// Reads `package/Name` or `package/msg/Name`.
///
/// # Errors
/// When the text is neither.
pub fn type_name(text: &str) -> Result<TypeName, CliError> {
    let no_name = || CliError::Usage(format!("{text:?} is not the name of a type, such as std_msgs/String"));
    TypeName::parse(text).ok_or_else(no_name)
}

fn environment_folders() -> Vec<PathBuf> {
    let values = FOLDER_VARIABLES.iter().filter_map(env::var_os);
    let folders = |value: std::ffi::OsString| env::split_paths(&value).collect::<Vec<_>>();
    values.flat_map(folders).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// The types of received messages: from their publishers' connection headers, or else the definition known here, if
/// it is the same, or else what nodes of the ROS 2 graph describe.
pub struct ReceivedTypes {
    types: Option<Types>,
    load: Box<dyn Fn() -> Result<Types, CliError> + Send>,
    learner: Option<(Context, TypeLearner)>,
    known: TypeCache,
}

impl ReceivedTypes {
    /// `load` returns the types known here. It is called when a publisher does not define its type.
    pub fn new(load: impl Fn() -> Result<Types, CliError> + Send + 'static) -> Self {
        Self { types: None, load: Box::new(load), learner: None, known: TypeCache::default() }
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
        let learned = learner.message(&graph, message.type_name(), message.type_hash());
        learned.map_err(|why| not_learned(&unknown, &why))
    }
}

/// The error for a type that is not known here and cannot be learned.
pub fn not_learned(unknown: &CliError, why: &NotLearned) -> CliError {
    CliError::Failed(format!("{unknown}. It cannot be learned from the graph: {why}"))
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

    #[test]
    fn both_spellings_name_a_type() {
        let types = Types::new(&[]).expect("no folder to read");
        let one = types.message("std_msgs/String").expect("built in");
        let two = types.message("std_msgs/msg/String").expect("built in");
        assert!(Arc::ptr_eq(&one, &two));
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

    #[test]
    fn mistyped_type_gets_a_suggestion() {
        let types = Types::new(&[]).expect("no folder to read");
        let guess = |text: &str| types.message(text).expect_err("unknown").to_string();
        for (text, meant) in [
            ("std_msgs/Strin", "std_msgs/String"),
            ("std_msg/Strign", "no"),
            ("std_msgs/Twist", "geometry_msgs/Twist"),
            ("sensor_msg/Imu", "sensor_msgs/Imu"),
        ] {
            let guessed = guess(text).contains(&format!("did you mean {meant}?"));
            assert_eq!(guessed, meant != "no", "{}", guess(text));
        }
    }

    #[test]
    fn unknown_type_error_lists_searched_places() {
        let types = Types::new(&[]).expect("no folder to read");
        let error = types.message("no_msgs/Such").expect_err("unknown").to_string();
        assert!(error.starts_with("no no_msgs/Such.msg is known (searched: built-in types"), "{error}");
        assert!(matches!(types.message("String"), Err(CliError::Usage(_))));
    }
}
