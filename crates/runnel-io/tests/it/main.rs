//! System calls, on hosts that the tests create.

mod interfaces;
mod multicast;
