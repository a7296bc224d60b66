//! What commands need of ROS 2 alone: types that nodes describe, and messages as Python prints them.

mod learned_types;
mod python_repr;

pub use learned_types::described_types;
pub use python_repr::python_repr;
