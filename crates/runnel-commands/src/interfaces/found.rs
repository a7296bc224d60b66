//! Types of any kind, by the name that the user typed.

use std::sync::Arc;

use runnel::core::schema::{
    ActionSchema, Generation, Kind, Library, ResolveError, Schema, ServiceSchema, TypeName,
};

use crate::error::CliError;
use crate::originals::command_line::{INTERFACE_LIST, definitions_advice};
use crate::types::{Types, spelt, type_name};

/// A type of any kind.
pub enum Found {
    Message(Arc<Schema>),
    Service(ServiceSchema),
    Action(ActionSchema),
}

impl Found {
    /// The types that `text` names: one if it includes the package, otherwise one per package. Their form is that of
    /// `only`. Without it, the form is that of ROS 2 if `text` is spelt so or only ROS 2 has the type, else that of
    /// ROS 1.
    ///
    /// # Errors
    /// When there is none, or its definition cannot be read.
    pub fn all(types: &Types, text: &str, only: Option<Generation>) -> Result<Vec<Self>, CliError> {
        if text.contains('/') {
            return Self::one(types, text, only).map(|found| vec![found]);
        }
        let named = |kind: Kind| {
            let names = match only {
                Some(generation) => types.names_in(generation, kind).collect(),
                None => types.every_name(kind),
            };
            names.into_iter().filter(|name| name.name == text).map(move |name| (kind, name))
        };
        let found = Kind::ALL.into_iter().flat_map(named).map(|(kind, name)| {
            let generation = only.unwrap_or_else(|| types.home(kind, name));
            Self::of_kind(types.library(), generation, kind, name).map_err(|error| types.unknown(error))
        });
        match found.collect::<Result<Vec<_>, CliError>>()? {
            none if none.is_empty() => {
                let package = |kind: Kind| types.every_name(kind).iter().any(|name| name.package == text);
                Err(CliError::Failed(match Kind::ALL.into_iter().any(package) {
                    true => format!("{text} is a package: see '{INTERFACE_LIST} {text}'"),
                    false => format!("no type {text} is known in any package. {}", definitions_advice()),
                }))
            }
            some => Ok(some),
        }
    }

    /// The type that `text` names with its package. Without a kind in the name, messages come before services, and
    /// services before actions.
    fn one(types: &Types, text: &str, only: Option<Generation>) -> Result<Self, CliError> {
        let name = type_name(text)?;
        let word = text.split('/').nth(1).filter(|_| text.matches('/').count() == 2);
        let kinds = Kind::ALL.into_iter().filter(|kind| word.is_none_or(|word| kind.extension() == word));
        let generation = |kind| match word {
            Some(_) if types.library().is_in(Generation::Ros2, kind, &name) => Generation::Ros2,
            _ => types.home(kind, &name),
        };
        let mut missing = None;
        for kind in kinds {
            let generation = only.unwrap_or_else(|| generation(kind));
            match Self::of_kind(types.library(), generation, kind, &name) {
                Err(error @ ResolveError::Unknown { required_by: None, .. }) => {
                    missing = missing.or(Some(error))
                }
                result => return result.map_err(|error| types.unknown(error)),
            }
        }
        let no_kind = || CliError::Usage(format!("type {text}: its kind is none of msg, srv and action"));
        Err(missing.map_or_else(no_kind, |error| types.unknown(error)))
    }

    /// The type of this kind and name in the form of a generation.
    ///
    /// # Errors
    /// When there is none, or its definition cannot be read.
    pub fn of_kind(
        library: &Library,
        generation: Generation,
        kind: Kind,
        name: &TypeName,
    ) -> Result<Self, ResolveError> {
        match kind {
            Kind::Message => library.message_in(generation, name).map(Self::Message),
            Kind::Service => library.service_in(generation, name).map(Self::Service),
            Kind::Action => library.action_in(generation, name).map(Self::Action),
        }
    }

    /// Its name, spelt as in the generation of its form.
    pub fn spelling(&self) -> String {
        spelt(self.generation(), self.kind(), self.name())
    }

    fn generation(&self) -> Generation {
        match self {
            Self::Message(schema) => schema.generation,
            Self::Service(schema) => schema.generation,
            Self::Action(schema) => schema.goal.generation,
        }
    }

    /// Its RIHS01 hash, in the ROS 2 form.
    pub fn type_hash(&self) -> Option<String> {
        match self {
            Self::Message(schema) => schema.rihs01(),
            Self::Service(schema) => schema.rihs01(),
            Self::Action(schema) => schema.rihs01(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &TypeName {
        match self {
            Self::Message(schema) => &schema.def.name,
            Self::Service(schema) => &schema.name,
            Self::Action(schema) => &schema.name,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Message(_) => Kind::Message,
            Self::Service(_) => Kind::Service,
            Self::Action(_) => Kind::Action,
        }
    }

    /// Its MD5 sum in ROS 1; for an action that of its action message.
    pub fn md5(&self) -> &str {
        match self {
            Self::Message(schema) => &schema.md5,
            Self::Service(schema) => &schema.md5,
            Self::Action(schema) => &schema.action.md5,
        }
    }

    /// The parts of its definition file.
    pub fn parts(&self) -> Vec<&Schema> {
        match self {
            Self::Message(schema) => vec![schema],
            Self::Service(schema) => vec![&schema.request, &schema.response],
            Self::Action(schema) => vec![&schema.goal, &schema.result, &schema.feedback],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, String)> {
        let types = Types::new(&[]).expect("no folder to read");
        let found = Found::all(&types, text, None).expect("known");
        found.iter().map(|found| (found.kind(), found.spelling())).collect()
    }

    #[test]
    fn middle_word_selects_the_kind() {
        assert_eq!(kinds("std_srvs/SetBool"), [(Kind::Service, "std_srvs/SetBool".to_owned())]);
        assert_eq!(kinds("std_srvs/srv/SetBool"), [(Kind::Service, "std_srvs/srv/SetBool".to_owned())]);
        let types = Types::new(&[]).expect("no folder to read");
        assert!(Found::all(&types, "std_srvs/msg/SetBool", None).is_err());
    }

    #[test]
    fn name_without_package_is_searched_in_all() {
        let found = kinds("Empty");
        assert!(found.contains(&(Kind::Message, "std_msgs/Empty".to_owned())), "{found:?}");
        assert!(found.contains(&(Kind::Service, "std_srvs/Empty".to_owned())), "{found:?}");
        let ros2_only = [(Kind::Message, "rcl_interfaces/msg/ParameterEvent".to_owned())];
        assert_eq!(kinds("ParameterEvent"), ros2_only);
    }

    #[test]
    fn type_has_the_requested_generation() {
        let types = Types::new(&[]).expect("no folder to read");
        let spelt = |text: &str, only| Found::all(&types, text, only).expect("known")[0].spelling();
        assert_eq!(spelt("std_msgs/Header", None), "std_msgs/Header");
        assert_eq!(spelt("std_msgs/Header", Some(Generation::Ros2)), "std_msgs/msg/Header");
        assert_eq!(spelt("std_msgs/msg/Header", Some(Generation::Ros1)), "std_msgs/Header");
        assert_eq!(spelt("Header", Some(Generation::Ros2)), "std_msgs/msg/Header");
        assert_eq!(spelt("roscpp/msg/Logger", None), "roscpp/Logger");
        assert_eq!(spelt("rcl_interfaces/Log", None), "rcl_interfaces/msg/Log");
        assert!(Found::all(&types, "Logger", Some(Generation::Ros2)).is_err());
    }
}
