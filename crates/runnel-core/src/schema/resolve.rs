//! Resolution of definitions to schemas, with the definitions that they use, directly or not.

use super::full_text::{full_text, sections};
use super::generation::{Generation, ros2_form};
use super::library::{Definition, Kind, Library, Resolved, Source, read_bounded};
use super::md5::{message_md5, service_md5};
use super::parse::{self, MAX_FILE_LEN, ParseError};
use super::types::{ActionSchema, Element, Field, MessageDef, Schema, ServiceSchema, TypeName};
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Maximum nesting of messages.
pub const MAX_MESSAGE_DEPTH: usize = 64;
/// Limit of the work for the full texts of one look-up: bytes written and fields visited.
pub(super) const MAX_TEXT_WORK: usize = 16 << 20;

/// A type cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// No definition of that name is known.
    Unknown {
        /// Kind of the definition.
        kind: Kind,
        /// Its name.
        name: TypeName,
        /// Location of the field with that type, if any: file, line and column.
        required_by: Option<String>,
    },
    /// Its file is not a definition.
    Parse(ParseError),
    /// Its file cannot be read.
    Read {
        /// The type.
        name: TypeName,
        /// The system's error, with the file's name.
        reason: String,
    },
    /// A message contains itself through the listed messages.
    Cycle(Vec<TypeName>),
    /// Messages are nested more than [`MAX_MESSAGE_DEPTH`] deep.
    TooDeep(TypeName),
    /// It, with all it depends on, is too large a text to announce.
    TooLarge(TypeName),
    /// A text that is not a type name, such as one in a connection header.
    NotAName(String),
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { kind, name, required_by: None } => {
                write!(f, "no {}.{} is known", name, kind.extension())
            }
            Self::Unknown { kind, name, required_by: Some(place) } => {
                write!(f, "{place}: expected a type, but {} is not built in and ", name.name)?;
                write!(f, "no {name}.{} is known", kind.extension())
            }
            Self::Parse(error) => error.fmt(f),
            Self::Read { name, reason } => write!(f, "{name}: {reason}"),
            Self::Cycle(names) => {
                let names: Vec<String> = names.iter().map(TypeName::to_string).collect();
                write!(f, "message contains itself: {}", names.join(" > "))
            }
            Self::TooDeep(name) => {
                write!(f, "{name}: messages are nested more than {MAX_MESSAGE_DEPTH} deep")
            }
            Self::TooLarge(name) => write!(f, "{name}: definition with all it names is too large"),
            Self::NotAName(text) => write!(f, "{text:?} is not the name of a type"),
        }
    }
}

impl std::error::Error for ResolveError {}

impl From<ParseError> for ResolveError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}

impl Library {
    /// A message with everything it is made of. Requests and responses of services and the messages made of actions
    /// count as messages.
    ///
    /// # Errors
    /// As [`ResolveError`] lists.
    pub fn message(&self, name: &TypeName) -> Result<Arc<Schema>, ResolveError> {
        self.message_in(Generation::Ros1, name)
    }

    /// As [`Library::message`], in the form that it has in a generation.
    ///
    /// # Errors
    /// As [`ResolveError`] lists.
    pub fn message_in(&self, generation: Generation, name: &TypeName) -> Result<Arc<Schema>, ResolveError> {
        Walk { library: self, generation, path: Vec::new(), budget: MAX_TEXT_WORK }
            .message(name)
            .map(|found| found.schema)
    }

    /// A service with everything it is made of.
    ///
    /// # Errors
    /// As [`ResolveError`] lists.
    pub fn service(&self, name: &TypeName) -> Result<ServiceSchema, ResolveError> {
        self.service_in(Generation::Ros1, name)
    }

    /// As [`Library::service`], in the form that it has in a generation.
    ///
    /// # Errors
    /// As [`ResolveError`] lists.
    pub fn service_in(&self, generation: Generation, name: &TypeName) -> Result<ServiceSchema, ResolveError> {
        self.require(Kind::Service, name)?;
        let request = self.message_in(generation, &name.with_suffix("Request"))?;
        let response = self.message_in(generation, &name.with_suffix("Response"))?;
        let md5 = service_md5(&request, &response);
        let ros2_name = format!("{}/srv/{}", name.package, name.name);
        Ok(ServiceSchema { generation, name: name.clone(), ros2_name, request, response, md5 })
    }

    /// The services that ROS 2 makes of an action: one sends a goal and is named `XSendGoal` here, the other waits for the
    /// result and is named `XGetResult`.
    ///
    /// # Errors
    /// As [`ResolveError`] lists; the message `unique_identifier_msgs/UUID` must be known.
    pub fn action_services_in(
        &self,
        generation: Generation,
        action: &TypeName,
    ) -> Result<[ServiceSchema; 2], ResolveError> {
        self.require(Kind::Action, action)?;
        let service = |suffix: &str| {
            let name = action.with_suffix(suffix);
            let ros2_name = format!("{}/action/{}_{suffix}", action.package, action.name);
            let request = self.message_in(generation, &name.with_suffix("Request"))?;
            let response = self.message_in(generation, &name.with_suffix("Response"))?;
            let md5 = service_md5(&request, &response);
            Ok::<_, ResolveError>(ServiceSchema { generation, name, ros2_name, request, response, md5 })
        };
        Ok([service("SendGoal")?, service("GetResult")?])
    }

    /// An action with the messages that ROS 1 makes of it.
    ///
    /// # Errors
    /// As [`ResolveError`] lists.
    pub fn action(&self, name: &TypeName) -> Result<ActionSchema, ResolveError> {
        self.action_in(Generation::Ros1, name)
    }

    /// As [`Library::action`], in the form that it has in a generation.
    ///
    /// # Errors
    /// As [`ResolveError`] lists.
    pub fn action_in(&self, generation: Generation, name: &TypeName) -> Result<ActionSchema, ResolveError> {
        self.require(Kind::Action, name)?;
        let part = |suffix: &str| self.message_in(generation, &name.with_suffix(suffix));
        Ok(ActionSchema {
            name: name.clone(),
            goal: part("Goal")?,
            result: part("Result")?,
            feedback: part("Feedback")?,
            action_goal: part("ActionGoal")?,
            action_result: part("ActionResult")?,
            action_feedback: part("ActionFeedback")?,
            action: part("Action")?,
        })
    }

    fn require(&self, kind: Kind, name: &TypeName) -> Result<&Definition, ResolveError> {
        let unknown = || ResolveError::Unknown { kind, name: name.clone(), required_by: None };
        self.definition(kind, name).ok_or_else(unknown)
    }

    fn message_def(
        &self,
        generation: Generation,
        name: &TypeName,
        source: &Source,
    ) -> Result<MessageDef, ResolveError> {
        let found = match source {
            Source::Text { file, text } => Some(parse::parse_message(name, text, file)?),
            Source::File(path) => {
                Some(parse::parse_message(name, &read(name, path)?, &path.display().to_string())?)
            }
            Source::PartOfService(service) => {
                let (text, file) = self.text(generation, Kind::Service, service)?;
                let def = parse::parse_service(service, &text, &file)?;
                [def.request, def.response].into_iter().find(|part| part.name == *name)
            }
            Source::PartOfAction(action) => {
                let (text, file) = self.text(generation, Kind::Action, action)?;
                let def = parse::parse_action(action, &text, &file)?;
                def.derived_message(name)
            }
        };
        let def = found.ok_or_else(|| ResolveError::Unknown {
            kind: Kind::Message,
            name: name.clone(),
            required_by: None,
        })?;
        Ok(if generation == Generation::Ros2 { ros2_form(def) } else { def })
    }

    /// An error with the place of the field that caused it.
    fn placed(
        &self,
        generation: Generation,
        mut error: ResolveError,
        message: &TypeName,
        field: &Field,
    ) -> ResolveError {
        if let ResolveError::Unknown { required_by: required_by @ None, .. } = &mut error {
            let place = self.place_of(generation, message, &field.spelling);
            *required_by = Some(place.unwrap_or_else(|| message.to_string()));
        }
        error
    }

    /// File, line and column of the first field whose type is spelt so.
    fn place_of(&self, generation: Generation, message: &TypeName, spelling: &str) -> Option<String> {
        let (kind, name) = match self.definition(Kind::Message, message)?.source(generation)? {
            Source::PartOfService(service) => (Kind::Service, service),
            Source::PartOfAction(action) => (Kind::Action, action),
            Source::Text { .. } | Source::File(_) => (Kind::Message, message),
        };
        let (text, file) = self.text(generation, kind, name).ok()?;
        let spelt = |line: &str| line.split_whitespace().next() == Some(spelling);
        let (index, line) = text.lines().enumerate().find(|(_, line)| spelt(line))?;
        let indent = line.chars().take_while(|letter| letter.is_whitespace()).count();
        Some(format!("{file}:{}:{}", index + 1, indent + 1))
    }

    /// The text of a definition and its file's name for errors.
    fn text(
        &self,
        generation: Generation,
        kind: Kind,
        name: &TypeName,
    ) -> Result<(Cow<'_, str>, Cow<'_, str>), ResolveError> {
        match self.require(kind, name)?.source(generation) {
            Some(Source::Text { file, text }) => Ok((Cow::Borrowed(text), Cow::Borrowed(file))),
            Some(Source::File(path)) => Ok((Cow::Owned(read(name, path)?), path.to_string_lossy())),
            Some(Source::PartOfService(_) | Source::PartOfAction(_)) | None => {
                Err(ResolveError::Unknown { kind, name: name.clone(), required_by: None })
            }
        }
    }
}

fn read(name: &TypeName, path: &Path) -> Result<String, ResolveError> {
    read_bounded(path).map_err(|error| ResolveError::Read {
        name: name.clone(),
        reason: format!("{}: {error}", path.display()),
    })
}

/// Path of nested messages from the requested one.
struct Walk<'a> {
    library: &'a Library,
    generation: Generation,
    /// The messages between that one and here.
    path: Vec<TypeName>,
    budget: usize,
}

impl Walk<'_> {
    fn message(&mut self, name: &TypeName) -> Result<Resolved, ResolveError> {
        let (library, generation) = (self.library, self.generation);
        let unknown = || ResolveError::Unknown { kind: Kind::Message, name: name.clone(), required_by: None };
        let definition = library.definition(Kind::Message, name).ok_or_else(unknown)?;
        let resolved = definition.resolved(generation);
        if let Some(resolved) = resolved.get() {
            self.check_depth(name, resolved.depth)?;
            return Ok(resolved.clone());
        }
        self.enter(name)?;
        let source = definition.source(generation).ok_or_else(unknown)?;
        let joined = self.join(library.message_def(generation, name, source)?)?;
        self.path.pop();
        // Another thread may have been faster: then its schema is the one that all share.
        Ok(resolved.get_or_init(|| joined).clone())
    }

    fn enter(&mut self, name: &TypeName) -> Result<(), ResolveError> {
        let is_recursive = self.path.contains(name);
        self.path.push(name.clone());
        if is_recursive {
            return Err(ResolveError::Cycle(std::mem::take(&mut self.path)));
        }
        self.check_depth(name, 0)
    }

    /// Checks that `more` further levels below the current path are allowed.
    fn check_depth(&self, name: &TypeName, more: usize) -> Result<(), ResolveError> {
        match self.path.len() + more > MAX_MESSAGE_DEPTH {
            true => Err(ResolveError::TooDeep(name.clone())),
            false => Ok(()),
        }
    }

    /// A definition with the schemas of its fields.
    fn join(&mut self, def: MessageDef) -> Result<Resolved, ResolveError> {
        let (mut depth, generation) = (1, self.generation);
        let mut part = |field: &Field| {
            let Element::Message(name) = &field.element else { return Ok(None) };
            let placed = |error| self.library.placed(generation, error, &def.name, field);
            let part = self.message(name).map_err(placed)?;
            depth = depth.max(part.depth + 1);
            Ok::<_, ResolveError>(Some(part.schema))
        };
        let parts = def.fields.iter().map(&mut part).collect::<Result<Vec<_>, _>>()?;
        let md5 = message_md5(&def, &parts);
        let too_large = || ResolveError::TooLarge(def.name.clone());
        let full_text = full_text(generation, &def, &parts, &mut self.budget).ok_or_else(too_large)?;
        Ok(Resolved { schema: Arc::new(Schema { generation, def, parts, md5, full_text }), depth })
    }
}

impl Schema {
    /// Reads a full text, as the `message_definition` of a connection header carries it: the text of the message
    /// `name`, and after it those of the messages it depends on, each led by a rule and a line `MSG: package/Name`.
    ///
    /// # Errors
    /// As [`ResolveError`] lists; a text of more than a MiB counts as too large.
    pub fn from_full_text(name: &TypeName, text: &str) -> Result<Arc<Self>, ResolveError> {
        Self::from_full_text_in(Generation::Ros1, name, text)
    }

    /// As [`Schema::from_full_text`], in the form of a generation. ROS 2 texts occur in bags.
    ///
    /// # Errors
    /// As [`Schema::from_full_text`].
    pub fn from_full_text_in(
        generation: Generation,
        name: &TypeName,
        text: &str,
    ) -> Result<Arc<Self>, ResolveError> {
        if text.len() > MAX_FILE_LEN {
            return Err(ResolveError::TooLarge(name.clone()));
        }
        let mut library = Library::new();
        for section in sections(text) {
            let section_name = match section.name {
                None => name.clone(),
                Some(text) => TypeName::parse(text).ok_or_else(|| not_a_name(text))?,
            };
            let file = format!("definition of {section_name}");
            library.add_text(Kind::Message, section_name, section.text.to_owned(), &file);
        }
        library.message_in(generation, name)
    }
}

fn not_a_name(text: &str) -> ResolveError {
    ResolveError::NotAName(text.chars().take(100).collect())
}
