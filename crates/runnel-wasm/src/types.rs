//! The types of a guest's topics, services and actions.

use std::sync::Arc;

use runnel::core::schema::{ActionSchema, Generation, Kind, Library, Schema, ServiceSchema, TypeName};

use crate::refusal::{Refusal, Refused};

/// Bytes of definitions that a guest may add.
const MOST: usize = 1 << 20;

/// The standard packages, what the host adds, and what the guest itself defines.
pub struct Types {
    library: Library,
    /// Names and texts that the guest has defined.
    definitions: Vec<(String, String)>,
    defined: usize,
}

impl Types {
    pub fn new(library: Library) -> Self {
        Self { library, definitions: Vec::new(), defined: 0 }
    }

    /// Adds a definition. Its kind is that of its separators: none in a message, one in a service, two in an action.
    pub fn define(&mut self, name: &str, definition: &str) -> Result<(), Refusal> {
        let type_name = type_name(name)?;
        let defined = self.defined.saturating_add(definition.len() + name.len());
        if defined > MOST {
            return Err(Refusal::new(Refused::TooMany, "the definitions of types are longer than 1 MiB"));
        }
        self.defined = defined;
        let kind = match definition.lines().filter(|line| line.trim() == "---").count() {
            0 => Kind::Message,
            1 => Kind::Service,
            _ => Kind::Action,
        };
        self.library.add_text(kind, type_name, definition.to_owned(), name);
        self.definitions.push((name.to_owned(), definition.to_owned()));
        Ok(())
    }

    /// Names and texts that the guest has defined.
    pub fn definitions(&self) -> &[(String, String)] {
        &self.definitions
    }

    pub fn message(&self, generation: Generation, name: &str) -> Result<Arc<Schema>, Refusal> {
        self.library.message_in(generation, &type_name(name)?).map_err(Refusal::invalid)
    }

    pub fn service(&self, generation: Generation, name: &str) -> Result<Arc<ServiceSchema>, Refusal> {
        self.library.service_in(generation, &type_name(name)?).map(Arc::new).map_err(Refusal::invalid)
    }

    pub fn action(&self, generation: Generation, name: &str) -> Result<Arc<ActionSchema>, Refusal> {
        self.library.action_in(generation, &type_name(name)?).map(Arc::new).map_err(Refusal::invalid)
    }
}

fn type_name(name: &str) -> Result<TypeName, Refusal> {
    TypeName::parse(name).ok_or_else(|| {
        Refusal::new(Refused::Invalid, format!("{name:?} is no type, such as std_msgs/msg/String"))
    })
}
