//! The definitions of the standard packages as text.

pub use runnel_core::schema::BuiltIn as Definition;
use runnel_core::schema::{Generation, Kind, Library};

/// All definitions of the standard packages.
pub fn definitions() -> &'static [Definition] {
    include!(concat!(env!("OUT_DIR"), "/runnel_definitions.rs"))
}

/// A library that holds them.
pub fn library() -> Library {
    let mut library = Library::new();
    library.add_built_in(definitions().iter().copied());
    library
}
