//! Types of topics, services and actions as the host has them by name.

use runnel_core::message::{Action, Message, Service};
use runnel_core::wire::Encoding;

use crate::abi::Handle;
use crate::error::Error;
use crate::host;

/// The line before each further definition of a full text.
const RULE: &str = "\n========";

/// A type: its name, and its definition in parts, such as request and response.
pub(crate) struct Type {
    pub(crate) name: &'static str,
    definitions: Vec<&'static str>,
}

impl Type {
    pub(crate) fn of_message<M: Message>(encoding: Encoding) -> Self {
        let name = if encoding.is_ros1() { M::TYPE } else { M::ROS2_TYPE };
        Self { name, definitions: vec![definition::<M>(encoding)] }
    }

    pub(crate) fn of_service<S: Service>(encoding: Encoding) -> Self {
        let name = if encoding.is_ros1() { S::TYPE } else { S::ROS2_TYPE };
        let (request, response) = (definition::<S::Request>(encoding), definition::<S::Response>(encoding));
        Self { name, definitions: vec![request, response] }
    }

    pub(crate) fn of_action<A: Action>(encoding: Encoding) -> Self {
        let name = if encoding.is_ros1() { A::NAME } else { A::ROS2_NAME };
        let (goal, result) = (definition::<A::Goal>(encoding), definition::<A::Result>(encoding));
        Self { name, definitions: vec![goal, result, definition::<A::Feedback>(encoding)] }
    }

    /// Creates an entity of this type. If the host refuses, it may not know the type, so it gets the definition.
    pub(crate) fn create(
        &self,
        create: impl Fn(&'static str) -> Result<Handle, Error>,
    ) -> Result<Handle, Error> {
        match create(self.name) {
            Err(refused @ Error::Invalid(_)) => {
                define(self.name, &self.definitions).or(Err(refused))?;
                create(self.name)
            }
            created => created,
        }
    }
}

fn definition<M: Message>(encoding: Encoding) -> &'static str {
    if encoding.is_ros1() { M::DEFINITION } else { M::ROS2_DEFINITION }
}

/// Gives the host the definition of a type in parts, and those of the messages that it depends on.
fn define(name: &str, parts: &[&str]) -> Result<(), Error> {
    let mut own = String::new();
    for (index, part) in parts.iter().enumerate() {
        let mut sections = part.split(RULE);
        own.push_str(if index > 0 { "---\n" } else { "" });
        own.push_str(sections.next().unwrap_or_default());
        own.push('\n');
        for section in sections {
            if let Some((name, definition)) = named(section) {
                host::define_type(name, definition)?;
            }
        }
    }
    host::define_type(name, &own)
}

/// The name and the text of a further definition.
fn named(section: &str) -> Option<(&str, &str)> {
    let (_, after_mark) = section.split_once("MSG: ")?;
    after_mark.split_once('\n')
}
