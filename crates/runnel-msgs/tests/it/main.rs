//! The generated standard types.

mod encodings;
mod features;
mod forms;
mod in_place;
mod types;
mod vectors;
