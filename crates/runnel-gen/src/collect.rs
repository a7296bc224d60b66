//! Collection of the interface definitions for which code is generated.

use crate::merge::{MergeError, Message};
use runnel_core::schema::{
    ActionSchema, DefinitionFile, Generation, Kind, Library, ResolveError, ServiceSchema, TypeName,
    definition_files,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Error of code generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GenerateError {
    /// A definition is wrong, or names an unknown type.
    Definition(ResolveError),
    /// A folder or file cannot be read or written.
    Folder {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// Two types of a package get the same name in Rust.
    SameName {
        /// The package.
        package: String,
        /// The types' names in ROS.
        types: [String; 2],
        /// The name in Rust.
        name: String,
    },
    /// Two packages get the same module in Rust.
    SameModule {
        /// The packages.
        packages: [String; 2],
        /// The module.
        module: String,
    },
    /// The ROS 2 definition of a message conflicts with the ROS 1 definition.
    Differs {
        /// The message.
        message: TypeName,
        /// The field or constant.
        name: String,
        /// The conflict.
        how: MergeError,
    },
    /// `OUT_DIR` is not set: this is not a build script.
    NotABuildScript,
}

impl GenerateError {
    pub(crate) fn folder(path: &Path, error: &io::Error) -> Self {
        Self::Folder { path: path.to_owned(), reason: error.to_string() }
    }
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definition(error) => error.fmt(f),
            Self::Folder { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::SameName { package, types: [first, second], name } => write!(
                f,
                "package {package}: {first} and {second} would both be {name} in Rust; rename one of them"
            ),
            Self::SameModule { packages: [first, second], module } => write!(
                f,
                "packages {first} and {second} would both be the module {module} in Rust; rename one of them"
            ),
            Self::Differs { message, name, how } => write!(f, "{message}: {name} {how}"),
            Self::NotABuildScript => f.write_str("OUT_DIR is not set: runnel_gen runs in build scripts only"),
        }
    }
}

/// The interfaces for which code is generated.
pub(crate) struct Interfaces {
    pub(crate) packages: BTreeMap<String, Package>,
    /// All types of these packages and of those left out; others are those of `::runnel::msgs`.
    pub(crate) own: BTreeSet<TypeName>,
    /// The packages that are found and that no code is generated for.
    pub(crate) left_out: BTreeSet<String>,
    /// Messages of actions, of these packages and of others.
    pub(crate) of_actions: BTreeSet<TypeName>,
}

/// Suffixes of an action's messages and services.
const OF_ACTION: [&str; 14] = [
    "Action",
    "ActionGoal",
    "ActionResult",
    "ActionFeedback",
    "Goal",
    "Result",
    "Feedback",
    "FeedbackMessage",
    "SendGoal",
    "SendGoalRequest",
    "SendGoalResponse",
    "GetResult",
    "GetResultRequest",
    "GetResultResponse",
];

/// A service in both generations.
pub(crate) struct Service {
    pub(crate) ros1: ServiceSchema,
    pub(crate) ros2: ServiceSchema,
    pub(crate) request: Message,
    pub(crate) response: Message,
}

/// An action in both generations.
pub(crate) struct Action {
    pub(crate) ros1: ActionSchema,
    pub(crate) ros2: ActionSchema,
    /// The service that sends a goal, and the one that waits for the result.
    pub(crate) services: [Service; 2],
}

/// The types of one package.
#[derive(Default)]
pub(crate) struct Package {
    pub(crate) messages: Vec<Message>,
    pub(crate) services: Vec<Service>,
    /// Actions; their messages are in `messages`.
    pub(crate) actions: Vec<Action>,
}

impl Interfaces {
    /// Reads the packages in a folder that are selected by name. They may use the types of the standard ones.
    pub(crate) fn collect(
        folder: &Path,
        standard: Option<&Path>,
        is_selected: impl Fn(&str) -> bool,
    ) -> Result<Self, Vec<GenerateError>> {
        let mut library = Library::new();
        let count =
            library.add_folder(folder).map_err(|error| vec![GenerateError::folder(folder, &error)])?;
        if count == 0 {
            let reason = "holds no .msg, .srv or .action file".to_owned();
            return Err(vec![GenerateError::Folder { path: folder.to_owned(), reason }]);
        }
        let messages: Vec<TypeName> = library.names(Kind::Message).cloned().collect();
        let services: Vec<TypeName> = library.names(Kind::Service).cloned().collect();
        let actions: Vec<TypeName> = library.names(Kind::Action).cloned().collect();
        if let Some(standard) = standard {
            library.add_folder(standard).map_err(|error| vec![GenerateError::folder(standard, &error)])?;
        }
        let names = messages.iter().chain(&services).chain(&actions);
        let left_out =
            names.map(|name| &name.package).filter(|package| !is_selected(package)).cloned().collect();
        let of_action = |action: &TypeName| {
            let TypeName { package, name } = action.clone();
            OF_ACTION.map(move |part| TypeName::new(&*package, &*format!("{name}{part}")))
        };
        let of_actions = library.names(Kind::Action).flat_map(of_action).collect();
        let own = messages.iter().cloned().collect();
        let mut interfaces = Self { packages: BTreeMap::new(), own, left_out, of_actions };
        let mut errors = Vec::new();
        let is_selected = |name: &&TypeName| is_selected(&name.package);
        for name in messages.iter().filter(is_selected) {
            match message(&library, name) {
                Ok(message) => interfaces.package(name).messages.push(message),
                Err(error) => errors.push(error),
            }
        }
        for name in services.iter().filter(is_selected) {
            match service(&library, name) {
                Ok(service) => interfaces.package(name).services.push(service),
                Err(error) => errors.push(error),
            }
        }
        for name in actions.iter().filter(is_selected) {
            match action(&library, name) {
                Ok(action) => interfaces.package(name).actions.push(action),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(interfaces) } else { Err(distinct(errors)) }
    }

    fn package(&mut self, name: &TypeName) -> &mut Package {
        self.packages.entry(name.package.clone()).or_default()
    }
}

fn message(library: &Library, name: &TypeName) -> Result<Message, ResolveError> {
    let [ros1, ros2] = Generation::ALL.map(|generation| library.message_in(generation, name));
    Ok(Message { ros1: ros1?, ros2: ros2? })
}

fn service(library: &Library, name: &TypeName) -> Result<Service, ResolveError> {
    let [ros1, ros2] = Generation::ALL.map(|generation| library.service_in(generation, name));
    Ok(joined(ros1?, ros2?))
}

fn joined(ros1: ServiceSchema, ros2: ServiceSchema) -> Service {
    let request = Message { ros1: Arc::clone(&ros1.request), ros2: Arc::clone(&ros2.request) };
    let response = Message { ros1: Arc::clone(&ros1.response), ros2: Arc::clone(&ros2.response) };
    Service { ros1, ros2, request, response }
}

fn action(library: &Library, name: &TypeName) -> Result<Action, ResolveError> {
    let [ros1, ros2] = Generation::ALL.map(|generation| library.action_in(generation, name));
    let [services1, services2] =
        Generation::ALL.map(|generation| library.action_services_in(generation, name));
    let ([send1, get1], [send2, get2]) = (services1?, services2?);
    Ok(Action { ros1: ros1?, ros2: ros2?, services: [joined(send1, send2), joined(get1, get2)] })
}

/// Removes duplicates: an error in one file appears in every type that refers to it.
fn distinct(errors: Vec<ResolveError>) -> Vec<GenerateError> {
    let mut distinct = Vec::new();
    for error in errors.into_iter().map(GenerateError::Definition) {
        if !distinct.contains(&error) {
            distinct.push(error);
        }
    }
    distinct
}

/// The definitions in a folder as a Rust slice of `Definition { kind, generation, name, text }`.
pub(crate) fn definition_list(folder: &Path) -> Result<String, Vec<GenerateError>> {
    let files = definition_files(folder).map_err(|error| vec![GenerateError::folder(folder, &error)])?;
    let mut list = String::from("&[\n");
    for DefinitionFile { kind, generation, name, path } in files {
        let text =
            std::fs::read_to_string(&path).map_err(|error| vec![GenerateError::folder(&path, &error)])?;
        let generation =
            generation.map_or_else(|| "None".to_owned(), |only| format!("Some(Generation::{only:?})"));
        // Writing to a string does not fail.
        let _ = writeln!(
            list,
            "Definition {{ kind: Kind::{kind:?}, generation: {generation}, name: \"{name}\", text: {text:?} }},"
        );
    }
    list.push_str("]\n");
    Ok(list)
}
