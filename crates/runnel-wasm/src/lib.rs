//! Hosts ROS nodes that are compiled to WebAssembly.
//!
//! A node is a core module with the imports that `runnel-guest` describes (`wit/runnel.wit`). It is compiled ahead of time
//! to a [`Program`]: to machine code, or to the bytecode of the Pulley interpreter, which runs on every processor. A
//! [`Guest`] is a program that runs: it may do only what its [`Manifest`] allows, and it is stopped at any instant by its
//! [`GuestControl`]. What it does wrong ends only itself, with a [`GuestError`].
//!
//! | Module | Holds |
//! |---|---|
//! | [`program`] | the files that hold compiled nodes, and engines that load them |
//! | [`manifest`] | what a node may do |
//! | `checkpoint` | the state of a node at one instant, from which another process can resume it |
//! | [`migration`] | nodes that move, running, to another host |
//! | `streams` | which messages a guest gets that two hosts receive while it moves |
//! | `guest` | a node that runs: its thread's part, and the control from outside |
//! | `host` | what belongs to one guest on the host's side: its entities and its events |
//! | `imports` | the functions that a guest calls, one file for each kind of entity |
//! | `wasi` | the functions of WASI that language libraries need, without files and sockets |
mod bounded;
mod checkpoint;
mod console;
mod error;
mod guest;
mod host;
mod imports;
mod instrumented;
pub mod manifest;
pub mod migration;
pub mod program;
mod refusal;
mod streams;
mod types;
mod wasi;

pub use checkpoint::Checkpoint;
pub use error::GuestError;
pub use guest::{Ended, Guest, GuestControl, GuestOptions, SuspendedGuest};
pub use manifest::Manifest;
pub use program::{Engine, Program};
