//! The program `runnel` as users and scripts start it.

mod advice;
mod bag_durations;
mod bag_kills;
mod bag_played;
mod bag_player;
mod bag_player_order;
mod bag_progress;
mod bag_recorder;
mod bag_requests;
mod bag_scene;
mod bench;
mod bridge;
mod command_line;
mod demo;
mod doctor_ros2;
mod misspelt;
mod peer_text;
mod place;
mod ros1_only;
mod ros2_front;
mod wasm;
mod wasm_trust;
