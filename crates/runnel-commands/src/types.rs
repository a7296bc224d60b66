//! Finds what messages are made of: among the types that come with Runnel, in folders, and in connection headers.

use std::collections::{BTreeSet, VecDeque};
use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use runnel::RawMessage;
use runnel::core::schema::{Generation, Kind, Library, ResolveError, Schema, ServiceSchema, TypeName};
use runnel::msgs;

use crate::error::CliError;

/// The variables that name folders with message definitions, those of ROS 1 and ROS 2.
const FOLDER_VARIABLES: [&str; 2] = ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"];

/// The package of courses, whose types are proposed last.
const EXAMPLES: &str = "example_interfaces";

/// How many letters of a name may be mistyped for it to be guessed.
const MOST_CHANGES: usize = 2;

/// How many types of received messages are kept: peers can name any number.
const MOST_RECEIVED: usize = 256;

/// The message types that are known. Only those that are asked for are read.
pub struct Types {
    library: Library,
}

impl Types {
    /// The types that come with Runnel, then those in these folders, then those in the environment's folders.
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

    /// The names of all types of a kind that ROS 1 has, in order.
    pub fn names(&self, kind: Kind) -> BTreeSet<&TypeName> {
        self.names_in(Generation::Ros1, kind).collect()
    }

    /// The names of all types of a kind that a generation has. In ROS 2 what an action is made of are no messages.
    pub fn names_in(&self, generation: Generation, kind: Kind) -> impl Iterator<Item = &TypeName> {
        let names = self.library.names(kind).chain(self.library.environment_names(kind));
        let are_messages = generation == Generation::Ros1;
        names
            .filter(move |name| self.library.is_in(generation, kind, name))
            .filter(move |name| are_messages || self.library.stands_alone(kind, name))
    }

    /// The names of all types of a kind that either generation has, in order.
    pub fn every_name(&self, kind: Kind) -> BTreeSet<&TypeName> {
        let generations = [Generation::Ros1, Generation::Ros2];
        generations.into_iter().flat_map(|generation| self.names_in(generation, kind)).collect()
    }

    /// In which generation a type is at home that the user does not name as one of the other: ROS 1, if that has it.
    pub fn home(&self, kind: Kind, name: &TypeName) -> Generation {
        let only_in_ros2 = !self.library.is_in(Generation::Ros1, kind, name)
            && self.library.is_in(Generation::Ros2, kind, name);
        if only_in_ros2 { Generation::Ros2 } else { Generation::Ros1 }
    }

    /// The message type of this name.
    ///
    /// # Errors
    /// When it is no name of a type, or no definition of it can be had.
    pub fn message(&self, name: &str) -> Result<Arc<Schema>, CliError> {
        self.library.message(&type_name(name)?).map_err(|error| self.unknown(error))
    }

    /// The same in the form that it has in a generation.
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

    /// The error with what the user can do about it.
    pub fn unknown(&self, error: ResolveError) -> CliError {
        let ResolveError::Unknown { kind, name, wanted_by: None } = &error else {
            return CliError::failed(error);
        };
        CliError::Failed(match self.similar(*kind, name) {
            Some(similar) => format!("{error}: did you mean {similar}?"),
            None => format!(
                "{error} (looked among the built-in types and in {}; name folders with --interfaces)",
                FOLDER_VARIABLES.join(", ")
            ),
        })
    }

    /// The type that is spelt most like this one; of those spelt alike, one of that name in another package.
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

/// The types of received messages: what their publishers' connection headers define, and otherwise the definition
/// known here, if it is the same.
pub struct ReceivedTypes {
    types: Option<Types>,
    load: Box<dyn Fn() -> Result<Types, CliError> + Send>,
    known: Known,
}

impl ReceivedTypes {
    /// `load` gives the types known here; it is called when a publisher does not define its type.
    pub fn new(load: impl Fn() -> Result<Types, CliError> + Send + 'static) -> Self {
        Self { types: None, load: Box::new(load), known: Known::default() }
    }

    /// The type of a message.
    ///
    /// # Errors
    /// When the publisher does not define it and nothing here fits.
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
            _ => self.known_here(message)?,
        };
        self.known.insert(message.type_name(), sum, Arc::clone(&schema));
        Ok(schema)
    }

    fn known_here(&mut self, message: &RawMessage<'_>) -> Result<Arc<Schema>, CliError> {
        let types = match &mut self.types {
            Some(types) => types,
            none => none.insert((self.load)()?),
        };
        let schema = types.message_in(message.generation(), message.type_name());
        let schema = schema.map_err(|error| match (message.generation(), error) {
            (Generation::Ros2, CliError::Failed(why)) => CliError::Failed(format!(
                "{why}; publishers of ROS 2 do not send the definition of a type, as those of ROS 1 do"
            )),
            (_, error) => error,
        })?;
        let (told, known) = match message.generation() {
            Generation::Ros1 => (message.md5(), format!("MD5 {}", schema.md5)),
            Generation::Ros2 => (message.type_hash(), schema.rihs01().unwrap_or_default()),
        };
        if matches!(told, "" | "*") || known.ends_with(told) {
            return Ok(schema);
        }
        let (publisher, name) = (message.publisher(), message.type_name());
        Err(CliError::Failed(format!(
            "publisher {publisher} sends another {name} than the one known here: {known}, where it says {told}"
        )))
    }
}

/// The types of messages that were received last, by the name and MD5 sum that their publishers gave. A topic has one,
/// seldom a few, so they are looked through.
#[derive(Default)]
struct Known {
    types: VecDeque<((String, String), Arc<Schema>)>,
}

impl Known {
    fn get(&self, name: &str, md5: &str) -> Option<Arc<Schema>> {
        let (_, schema) = self.types.iter().find(|((known, sum), _)| known == name && sum == md5)?;
        Some(Arc::clone(schema))
    }

    /// Keeps a type; the oldest makes room.
    fn insert(&mut self, name: &str, md5: &str, schema: Arc<Schema>) {
        if self.types.len() == MOST_RECEIVED {
            self.types.pop_front();
        }
        self.types.push_back(((name.to_owned(), md5.to_owned()), schema));
    }
}

/// The type as the connection header of a ROS 1 publisher defines it, if it does so in words that can be read.
fn from_header(message: &RawMessage<'_>) -> Option<Arc<Schema>> {
    let name = TypeName::parse(message.type_name())?;
    let parsed = Schema::from_full_text(&name, message.definition());
    let parsed = parsed.inspect_err(|error| log::warn!("publisher {}: {error}", message.publisher())).ok();
    // Without any text it may be a message without fields, or a publisher that does not tell.
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
    fn of_many_types_of_received_messages_the_last_are_kept() {
        let types = Types::new(&[]).expect("no folder to read");
        let schema = types.message("std_msgs/String").expect("built in");
        let mut known = Known::default();
        for number in 0..=MOST_RECEIVED {
            known.insert("std_msgs/String", &number.to_string(), Arc::clone(&schema));
        }
        assert_eq!(known.types.len(), MOST_RECEIVED);
        assert!(known.get("std_msgs/String", "0").is_none());
        assert!(known.get("std_msgs/String", "1").is_some() && known.get("std_msgs/Bool", "1").is_none());
    }

    #[test]
    fn a_mistyped_type_is_guessed() {
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
    fn an_unknown_type_says_where_it_was_looked_for() {
        let types = Types::new(&[]).expect("no folder to read");
        let error = types.message("no_msgs/Such").expect_err("unknown").to_string();
        assert!(error.starts_with("no no_msgs/Such.msg is known (looked among"), "{error}");
        assert!(matches!(types.message("String"), Err(CliError::Usage(_))));
    }
}
