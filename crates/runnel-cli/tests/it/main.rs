//! The program `runnel` as users and scripts start it.

mod advice;
mod bench;
mod command_line;
mod demo;
mod peer_text;
mod ros1_only;
