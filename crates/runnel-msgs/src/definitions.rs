//! The definitions of the standard packages as text.

use runnel_core::schema::{Kind, Library};

/// One definition.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// What it defines.
    pub kind: Kind,
    /// The name, such as `std_msgs/String`.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

/// All definitions of the standard packages.
pub fn definitions() -> &'static [Definition] {
    include!(concat!(env!("OUT_DIR"), "/runnel_definitions.rs"))
}

/// A library that holds them.
pub fn library() -> Library {
    let mut library = Library::new();
    library.add_built_in(
        definitions().iter().map(|definition| (definition.kind, definition.name, definition.text)),
    );
    library
}
