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
                host::define_type(self.name, &joined(&self.definitions)).or(Err(refused))?;
                create(self.name)
            }
            created => created,
        }
    }
}

fn definition<M: Message>(encoding: Encoding) -> &'static str {
    if encoding.is_ros1() { M::DEFINITION } else { M::ROS2_DEFINITION }
}

/// The parts with lines of three hyphens between them, then what they depend on, each definition once.
fn joined(parts: &[&str]) -> String {
    let mut text = String::new();
    let mut sections: Vec<&str> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let mut of_part = part.split(RULE);
        text.push_str(if index > 0 { "---\n" } else { "" });
        text.push_str(of_part.next().unwrap_or_default());
        text.push('\n');
        for section in of_part {
            if !sections.contains(&section) {
                sections.push(section);
            }
        }
    }
    sections.into_iter().for_each(|section| text.extend([RULE, section]));
    text
}
