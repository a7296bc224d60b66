//! Library of definitions.

use super::action;
use super::folders::{DefinitionFile, definition_files};
use super::generation::Generation;
use super::parse::MAX_FILE_LEN;
use super::types::{Schema, TypeName};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Kind of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A `.msg` file.
    Message,
    /// A `.srv` file.
    Service,
    /// An `.action` file.
    Action,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Message, Self::Service, Self::Action];

    /// The file name extension, which is also the name of the package's folder for these files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Message => "msg",
            Self::Service => "srv",
            Self::Action => "action",
        }
    }
}

/// A definition that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The kind of definition.
    pub kind: Kind,
    /// The only generation that has the definition; `None` if both have it.
    pub generation: Option<Generation>,
    /// The name, such as `std_msgs/String`.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

/// Definitions by name, from texts and folders.
///
/// A type's files are read and parsed on its first use; then its [`Schema`] is shared. If a name is defined more than once,
/// the definition added first is used, and the environment's folders come last.
///
/// A type has a form in each [`Generation`], usually from one text. A folder or the built-in list may contain two texts, or
/// restrict a text to one generation. The form for the other generation is still available.
#[derive(Debug, Default)]
pub struct Library {
    added: Definitions,
    environment: Vec<PathBuf>,
    /// The definitions in the environment's folders, which are not searched before a name is missing.
    found: OnceLock<Definitions>,
}

#[derive(Debug, Default)]
struct Definitions {
    by_name: BTreeMap<(Kind, TypeName), Definition>,
    /// How often something was added: a folder or a list counts once.
    additions: usize,
}

/// A definition, parsed or not, with at least one source.
#[derive(Debug, Default)]
pub(super) struct Definition {
    of_both: Option<Source>,
    of_ros1: Option<Source>,
    of_ros2: Option<Source>,
    /// Number of the addition that contained it.
    addition: usize,
    resolved_in_ros1: OnceLock<Resolved>,
    resolved_in_ros2: OnceLock<Resolved>,
}

impl Definition {
    /// The source for a generation: its own, the common one, otherwise the other generation's.
    pub(super) fn source(&self, generation: Generation) -> Option<&Source> {
        let (own, other) = match generation {
            Generation::Ros1 => (&self.of_ros1, &self.of_ros2),
            Generation::Ros2 => (&self.of_ros2, &self.of_ros1),
        };
        own.as_ref().or(self.of_both.as_ref()).or(other.as_ref())
    }

    /// The resolved message; empty for services and actions, which consist of messages.
    pub(super) fn resolved(&self, generation: Generation) -> &OnceLock<Resolved> {
        match generation {
            Generation::Ros1 => &self.resolved_in_ros1,
            Generation::Ros2 => &self.resolved_in_ros2,
        }
    }

    fn is_in(&self, generation: Generation) -> bool {
        let own = match generation {
            Generation::Ros1 => &self.of_ros1,
            Generation::Ros2 => &self.of_ros2,
        };
        own.is_some() || self.of_both.is_some()
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        [&self.of_both, &self.of_ros1, &self.of_ros2].into_iter().flatten()
    }

    /// The place for a source that is of one generation, or of both.
    fn place(&mut self, generation: Option<Generation>) -> &mut Option<Source> {
        match generation {
            None => &mut self.of_both,
            Some(Generation::Ros1) => &mut self.of_ros1,
            Some(Generation::Ros2) => &mut self.of_ros2,
        }
    }
}

/// A message whose parts were found.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub(super) schema: Arc<Schema>,
    /// Maximum nesting of messages, including itself.
    pub(super) depth: usize,
}

/// Source of the text of a definition.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Here; errors name it by `file`.
    Text { file: String, text: Cow<'static, str> },
    /// In a file.
    File(PathBuf),
    /// Within that of a service.
    PartOfService(TypeName),
    /// Within that of an action, or made from it.
    PartOfAction(TypeName),
}

impl Source {
    /// Whether it has its own file, and is not part of another definition.
    fn is_file(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::File(_))
    }
}

/// The text of a file, of which no more is read than a definition may have and one byte.
pub(super) fn read_bounded(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_FILE_LEN as u64 + 1).read_to_end(&mut bytes)?;
    // Old files have comments in other encodings.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Library {
    /// A library without definitions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a definition. Errors name `file`.
    pub fn add_text(&mut self, kind: Kind, name: TypeName, text: impl Into<Cow<'static, str>>, file: &str) {
        self.added.additions += 1;
        self.added.add(kind, None, name, Source::Text { file: file.to_owned(), text: text.into() });
    }

    /// Adds definitions that are part of the program. Invalid names are skipped.
    pub fn add_built_in(&mut self, definitions: impl IntoIterator<Item = BuiltIn>) {
        self.added.additions += 1;
        for BuiltIn { kind, generation, name, text } in definitions {
            if let Some(name) = TypeName::parse(name) {
                let folder = generation.map_or_else(String::new, |only| format!("{}/", only.folder()));
                let ending = kind.extension();
                let file = format!("{folder}{}/{ending}/{}.{ending}", name.package, name.name);
                self.added.add(kind, generation, name, Source::Text { file, text: Cow::Borrowed(text) });
            }
        }
    }

    /// Adds the [`definition_files`] of a folder; returns their number.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn add_folder(&mut self, folder: &Path) -> io::Result<usize> {
        let files = definition_files(folder)?;
        let count = files.len();
        self.added.add_files(files);
        Ok(count)
    }

    /// Adds search folders for missing types: the entries of `ROS_PACKAGE_PATH` and `AMENT_PREFIX_PATH`, or their subfolder
    /// `share`. They are searched once, when the first name is missing; unreadable folders are skipped.
    #[must_use]
    pub fn with_environment_folders(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.environment.extend(folders);
        self.found = OnceLock::new();
        self
    }

    /// The names of one kind in order, without those of the environment's folders and, for messages, without the
    /// requests and responses of services.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &TypeName> {
        self.added.names(kind)
    }

    /// As [`Library::names`], for the environment's folders, which are searched now.
    pub fn environment_names(&self, kind: Kind) -> impl Iterator<Item = &TypeName> {
        self.environment_definitions().names(kind)
    }

    /// Whether a generation has its own definition of the type. The form for the other generation is available, too, except
    /// for messages derived from actions.
    pub fn is_in(&self, generation: Generation, kind: Kind, name: &TypeName) -> bool {
        let Some(definition) = self.definition(kind, name) else { return false };
        let has_action = |source: &Source| match source {
            Source::PartOfAction(action) => self.is_in(generation, Kind::Action, action),
            _ => true,
        };
        definition.is_in(generation) && definition.sources().all(has_action)
    }

    /// Whether the type has its own definition, and is not part of a service or derived from an action.
    pub fn is_standalone(&self, kind: Kind, name: &TypeName) -> bool {
        self.definition(kind, name).is_some_and(|definition| definition.sources().any(Source::is_file))
    }

    pub(super) fn definition(&self, kind: Kind, name: &TypeName) -> Option<&Definition> {
        let key = (kind, name.clone());
        self.added.by_name.get(&key).or_else(|| self.environment_definitions().by_name.get(&key))
    }

    fn environment_definitions(&self) -> &Definitions {
        self.found.get_or_init(|| {
            let mut found = Definitions::default();
            for folder in &self.environment {
                let share = folder.join("share");
                let folder = if share.is_dir() { &share } else { folder };
                found.add_files(definition_files(folder).unwrap_or_default());
            }
            found
        })
    }
}

impl Definitions {
    fn add_files(&mut self, files: Vec<DefinitionFile>) {
        self.additions += 1;
        for DefinitionFile { kind, generation, name, path } in files {
            self.add(kind, generation, name, Source::File(path));
        }
    }

    /// Adds a definition and its nested messages.
    fn add(&mut self, kind: Kind, generation: Option<Generation>, name: TypeName, source: Source) {
        match kind {
            Kind::Message => {}
            Kind::Service => {
                for suffix in ["Request", "Response"] {
                    let part = Source::PartOfService(name.clone());
                    self.insert(Kind::Message, generation, name.with_suffix(suffix), part);
                }
            }
            Kind::Action => {
                for (suffix, only) in action::suffixes() {
                    let part = Source::PartOfAction(name.clone());
                    self.insert(Kind::Message, only.or(generation), name.with_suffix(suffix), part);
                }
            }
        }
        self.insert(kind, generation, name, source);
    }

    /// Keeps an existing definition, unless it is only part of a service or an action: its own file has precedence. A
    /// definition of the same addition may be for the other generation.
    fn insert(&mut self, kind: Kind, generation: Option<Generation>, name: TypeName, source: Source) {
        let addition = self.additions;
        let new = || Definition { addition, ..Definition::default() };
        let definition = self.by_name.entry((kind, name)).or_insert_with(new);
        if source.is_file() && !definition.sources().any(Source::is_file) {
            *definition = new();
        }
        if definition.addition == addition {
            definition.place(generation).get_or_insert(source);
        }
    }

    fn names(&self, kind: Kind) -> impl Iterator<Item = &TypeName> {
        let of_kind = self.by_name.iter().filter(move |((of, _), _)| *of == kind);
        of_kind
            .filter(|(_, definition)| {
                !definition.sources().all(|source| matches!(source, Source::PartOfService(_)))
            })
            .map(|((_, name), _)| name)
    }
}
