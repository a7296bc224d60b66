//! Messages and values against what the originals make of them.
#![cfg(feature = "std")]

mod dynamic_properties;
mod rostopic;
