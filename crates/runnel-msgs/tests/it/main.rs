//! The generated standard types.

mod descriptions;
mod encodings;
mod features;
mod forms;
mod in_place;
mod types;
mod vectors;
