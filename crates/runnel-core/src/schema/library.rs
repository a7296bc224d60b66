//! Where definitions are found.

use super::action;
use super::folders::{DefinitionFile, definition_files};
use super::parse::MAX_FILE_LEN;
use super::types::{Schema, TypeName};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What a file defines.
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
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Message, Self::Service, Self::Action];

    /// The ending of such a file's name, which is also the name of the folder of a package that holds them.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Message => "msg",
            Self::Service => "srv",
            Self::Action => "action",
        }
    }
}

/// Definitions by name, from texts and folders.
///
/// Files are read and texts parsed when a type is first asked for; from then on its [`Schema`] is shared. Where a
/// name is defined more than once, the definition added first counts, and those of the environment's folders come
/// last.
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
}

/// A definition, read or not.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) source: Source,
    /// What a message came to be; stays empty for services and actions, which are made of messages.
    pub(super) resolved: OnceLock<Resolved>,
}

/// A message whose parts were found.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub(super) schema: Arc<Schema>,
    /// How many messages lie in one another there at most, itself counted.
    pub(super) depth: usize,
}

/// Where the text of a definition is.
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
    /// True unless it lies within the source of another definition.
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

    /// Adds a definition. `file` is what errors in it name.
    pub fn add_text(&mut self, kind: Kind, name: TypeName, text: impl Into<Cow<'static, str>>, file: &str) {
        self.added.add(kind, name, Source::Text { file: file.to_owned(), text: text.into() });
    }

    /// Adds definitions that are part of the program: kind, name such as `std_msgs/String`, and text. What is not
    /// such a name is passed over.
    pub fn add_built_in(
        &mut self,
        definitions: impl IntoIterator<Item = (Kind, &'static str, &'static str)>,
    ) {
        for (kind, name, text) in definitions {
            if let Some(name) = TypeName::parse(name) {
                let file =
                    format!("{}/{}/{}.{}", name.package, kind.extension(), name.name, kind.extension());
                self.add_text(kind, name, text, &file);
            }
        }
    }

    /// Adds what [`definition_files`] finds below a folder; gives how many files that is.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn add_folder(&mut self, folder: &Path) -> io::Result<usize> {
        let files = definition_files(folder)?;
        let count = files.len();
        self.added.add_files(files);
        Ok(count)
    }

    /// The library with folders to search for what is not in it: the entries of `ROS_PACKAGE_PATH` and
    /// `AMENT_PREFIX_PATH`. Where a folder holds one named `share`, that is searched instead. They are searched once,
    /// when the first name is missing; those that cannot be read are passed over.
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

    /// As [`Library::names`], of what lies in the environment's folders, which are searched now.
    pub fn environment_names(&self, kind: Kind) -> impl Iterator<Item = &TypeName> {
        self.environment_definitions().names(kind)
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
        files.into_iter().for_each(|file| self.add(file.kind, file.name, Source::File(file.path)));
    }

    /// Adds a definition and the messages that come with it.
    fn add(&mut self, kind: Kind, name: TypeName, source: Source) {
        match kind {
            Kind::Message => {}
            Kind::Service => {
                let parts = ["Request", "Response"].map(|suffix| name.with_suffix(suffix));
                parts
                    .into_iter()
                    .for_each(|part| self.insert(Kind::Message, part, Source::PartOfService(name.clone())));
            }
            Kind::Action => {
                let parts = action::SUFFIXES.map(|suffix| name.with_suffix(suffix));
                parts
                    .into_iter()
                    .for_each(|part| self.insert(Kind::Message, part, Source::PartOfAction(name.clone())));
            }
        }
        self.insert(kind, name, source);
    }

    /// Keeps what is there, unless that only comes with a service or an action: a file of its own says more.
    fn insert(&mut self, kind: Kind, name: TypeName, source: Source) {
        let definition = Definition { source, resolved: OnceLock::new() };
        match self.by_name.entry((kind, name)) {
            Entry::Vacant(place) => {
                place.insert(definition);
            }
            Entry::Occupied(mut place) if !place.get().source.is_file() && definition.source.is_file() => {
                place.insert(definition);
            }
            Entry::Occupied(_) => {}
        }
    }

    fn names(&self, kind: Kind) -> impl Iterator<Item = &TypeName> {
        let of_kind = self.by_name.iter().filter(move |((of, _), _)| *of == kind);
        of_kind
            .filter(|(_, definition)| !matches!(definition.source, Source::PartOfService(_)))
            .map(|((_, name), _)| name)
    }
}
