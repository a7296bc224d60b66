//! Finds definitions of types: built in, in folders, and in connection headers.

use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use runnel::core::schema::{Generation, Kind, Library, ResolveError, Schema, ServiceSchema, TypeName};
use runnel::msgs;

use crate::error::CliError;
use crate::originals::command_line::{self, definitions_advice};

/// The variables that name folders with message definitions, in ROS 1 and ROS 2.
const FOLDER_VARIABLES: [&str; 2] = ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"];

/// A package for tutorials, whose types are suggested last.
const EXAMPLES: &str = "example_interfaces";

/// Most mistyped letters for which a type is suggested.
const MOST_CHANGES: usize = 2;

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

    /// The library itself.
    #[cfg(feature = "wasm")]
    pub fn into_library(self) -> Library {
        self.library
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

    /// The generation of a type whose name fits both: ROS 1, if that has the type.
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
        let [ros1, ros2] = FOLDER_VARIABLES;
        let what = match self.similar(*kind, name) {
            Some(similar) => format!("{error}: did you mean {}?", spelt_in_advice(*kind, similar)),
            None => format!("{error} (searched: built-in types, {ros1} and {ros2})."),
        };
        CliError::Failed(format!("{what} {}", definitions_advice()))
    }

    /// The type with the most similar name, or else a type of this name in another package.
    fn similar(&self, kind: Kind, name: &TypeName) -> Option<&TypeName> {
        let changes = |other: &TypeName| match other.name == name.name {
            true => 0,
            false => strsim::osa_distance(&other.to_string(), &name.to_string()),
        };
        let is_example = |other: &TypeName| other.package == EXAMPLES;
        let names = match command_line::is_ros2() {
            true => self.names_in(Generation::Ros2, kind).collect(),
            false => self.every_name(kind),
        };
        let names = names.into_iter().map(|other| (changes(other), is_example(other), other));
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

/// The name of a type as every command of the called program accepts it.
pub fn spelt_in_advice(kind: Kind, name: &TypeName) -> String {
    spelt(if command_line::is_ros2() { Generation::Ros2 } else { Generation::Ros1 }, kind, name)
}

/// The error for a server of a type whose definition here differs.
pub fn other_definition(type_name: &str) -> CliError {
    let what = format!("its server has another definition of {type_name} than the one known here");
    CliError::Failed(format!("{what}. {}", definitions_advice()))
}

/// The error for an unknown type with another sentence, before the advice.
pub fn unknown_and(unknown: &CliError, sentence: &str) -> CliError {
    let text = unknown.to_string();
    match text.strip_suffix(definitions_advice()) {
        Some(what) => CliError::Failed(format!("{what}{sentence}. {}", definitions_advice())),
        None => CliError::Failed(format!("{text}. {sentence}")),
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
    fn mistyped_type_gets_a_suggestion() {
        let types = Types::new(&[]).expect("no folder to read");
        let guess = |text: &str| types.message(text).expect_err("unknown").to_string();
        for (text, meant) in [
            ("std_msgs/Strin", "std_msgs/String"),
            ("std_msg/Strign", "no"),
            ("std_msgs/Twist", "geometry_msgs/Twist"),
            ("sensor_msg/Imu", "sensor_msgs/Imu"),
        ] {
            let guessed = guess(text).contains(&format!("did you mean {meant}? Try: source the workspace"));
            assert_eq!(guessed, meant != "no", "{}", guess(text));
        }
    }

    #[test]
    fn advice_stays_at_the_end() {
        let types = Types::new(&[]).expect("no folder to read");
        let unknown = types.message("no_msgs/Such").expect_err("unknown");
        let error = unknown_and(&unknown, "It cannot be learned").to_string();
        assert!(error.contains("AMENT_PREFIX_PATH). It cannot be learned. Try: source"), "{error}");
        assert!(error.ends_with("--interfaces DIR"), "{error}");
        let other = CliError::failed("its definition cannot be read");
        let error = unknown_and(&other, "It cannot be learned").to_string();
        assert_eq!(error, "its definition cannot be read. It cannot be learned");
    }

    #[test]
    fn unknown_type_error_lists_searched_places() {
        let types = Types::new(&[]).expect("no folder to read");
        let error = types.message("no_msgs/Such").expect_err("unknown").to_string();
        let expected = "no no_msgs/Such.msg is known (searched: built-in types, ROS_PACKAGE_PATH and AMENT_PREFIX_PATH). \
                        Try: source the workspace that defines it, or add --interfaces DIR";
        assert_eq!(error, expected);
        assert!(matches!(types.message("String"), Err(CliError::Usage(_))));
    }
}
