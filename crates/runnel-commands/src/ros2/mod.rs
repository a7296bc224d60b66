//! What commands need of ROS 2 alone: messages as Python prints them.

mod python_repr;

pub use python_repr::python_repr;
