//! The standard ROS message packages as Rust types: a module for each package, such as [`std_msgs::msg::String`],
//! [`geometry_msgs::msg::Twist`] and the service [`std_srvs::srv::SetBool`].
//!
//! They are generated when this crate is built, from the definitions that come with `runnel-gen`. With the feature
//! `std` the definitions are available, too, for programs that use types known only at run time: [`library`].
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

// Generated code names one root: the crate `runnel` for users, and this one here.
extern crate self as runnel;
#[doc(hidden)]
pub use runnel_core as core;

/// The packages, under the name by which generated code finds them.
#[doc(hidden)]
pub mod msgs {
    include!(concat!(env!("OUT_DIR"), "/runnel_interfaces.rs"));
}
#[doc(inline)]
pub use msgs::*;

#[cfg(feature = "std")]
mod definitions;
#[cfg(feature = "std")]
pub use definitions::{Definition, definitions, library};

include!(concat!(env!("OUT_DIR"), "/runnel_messages.rs"));

/// Brings in the modules that `runnel_gen::generate` wrote for the packages of the crate in which it stands.
#[macro_export]
macro_rules! include_interfaces {
    () => {
        include!(concat!(env!("OUT_DIR"), "/runnel_interfaces.rs"));
    };
}
