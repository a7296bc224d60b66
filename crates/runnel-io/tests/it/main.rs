//! System calls, on hosts and file systems that the tests create.

#[cfg(feature = "direct_file")]
mod direct_file;
mod interfaces;
mod multicast;
