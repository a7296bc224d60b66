//! RTPS, the protocol of ROS 2, without I/O: wire format, discovery of participants and endpoints, reliable and
//! best-effort writers and readers, fragmentation, liveliness.
//!
//! The engine takes bytes and the time and returns bytes and events. It needs no operating system and never panics,
//! whatever a peer sends. Source: OMG DDSI-RTPS 2.5; rules taken from it cite the section.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod announce;
mod config;
mod count;
mod datagram;
mod event;
mod evidence;
mod fault;
mod history;
mod inline_qos;
mod lend;
mod outgoing;
mod participant;
mod participant_with_writers;
mod reader;
pub mod wire;
mod writer;

pub use config::{Config, Limits, Path};
pub use event::{Correction, Event, Sample, SamplePayload, Transmit};
pub use fault::PeerFault;
pub use lend::Lend;
pub use outgoing::Outgoing;
pub use participant::{Audience, EndpointOptions, Participant, Peer};
pub use participant_with_writers::ParticipantWithWriters;
pub use writer::{Full, NotSent, Rate, Suspended, UserWriter, WriterUpdate};
