//! System calls, on hosts that the tests make.

mod interfaces;
mod multicast;
