//! The generated standard types.

mod encodings;
mod forms;
mod in_place;
mod types;
mod vectors;
