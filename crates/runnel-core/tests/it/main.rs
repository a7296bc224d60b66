//! Messages and values, compared with the original implementations.
#![cfg(feature = "yaml")]

mod dynamic_properties;
mod rostopic;
