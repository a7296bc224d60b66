//! Features that only ROS 1 has.

use std::fmt;

/// A feature that only ROS 1 has: the subject of [`Error::Ros1Only`](crate::Error::Ros1Only).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ros1Feature {
    /// A parameter that nodes share, by its name.
    SharedParameter(String),
    /// The provider of a service, by the service's name.
    ServiceProvider(String),
    /// A method of the master, by its name.
    MasterMethod(String),
}

impl fmt::Display for Ros1Feature {
    /// What is missing, why, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedParameter(name) => write!(
                f,
                "parameter {name}: only ROS 1 has parameters that nodes share; in ROS 2 each node has its own, such as rate \
                 or ~rate. Try: ParameterClient for those of another node"
            ),
            Self::ServiceProvider(service) => write!(
                f,
                "the provider of service {service}: only ROS 1 has it; in ROS 2 nodes announce the types of their services. \
                 Try: Context::ros2_graph"
            ),
            Self::MasterMethod(method) => write!(
                f,
                "{method} of the master: only ROS 1 has a master, and this context is only in ROS 2 (Graphs::Ros2). Try: \
                 Graphs::Both with a master"
            ),
        }
    }
}
