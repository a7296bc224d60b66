//! Messages and values against what the originals make of them.
#![cfg(feature = "yaml")]

mod dynamic_properties;
mod rostopic;
