//! Parameters of a node as a program uses them, and as the graphs see them.

pub(crate) mod own_parameters;
pub(crate) mod parameter_client;
pub(crate) mod parameter_services;
pub(crate) mod params;
pub(crate) mod qos_overrides;
mod ros1_integers;
mod ros1_mirror;
pub(crate) mod ros1_parameters;
pub(crate) mod ros2_parameters;
