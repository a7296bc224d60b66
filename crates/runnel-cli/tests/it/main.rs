//! The program `runnel` as users and scripts start it.

mod bench;
mod command_line;
mod demo;
mod of_ros1;
mod peer_text;
