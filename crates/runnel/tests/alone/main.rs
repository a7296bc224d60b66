//! Tests that check the whole process, such as descriptors, memory, threads and log lines, or that end its IPC
//! connections. Each holds [`process::alone`] while it runs.

#[path = "../common/cgroup.rs"]
mod cgroup;
#[path = "../common/child_process.rs"]
mod child_process;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/domains.rs"]
mod domains;
#[path = "../common/end_ipc_connections.rs"]
mod end_ipc_connections;
#[path = "../common/fake_process.rs"]
mod fake_process;
#[path = "../common/fake_publisher.rs"]
mod fake_publisher;
#[path = "../common/ipc_scene.rs"]
mod ipc_scene;
#[path = "../common/logged.rs"]
mod logged;
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/process.rs"]
mod process;
#[path = "../common/raw.rs"]
mod raw;
#[path = "../common/resources.rs"]
mod resources;
#[path = "../common/ros2_pair.rs"]
mod ros2_pair;
#[path = "../common/writer_scene.rs"]
mod writer_scene;

mod background_thread;
mod descriptors;
mod dual_soak;
mod ipc_changing_memory;
mod ipc_deaths;
mod ipc_handshakes;
mod ipc_hostile;
mod ipc_limits;
mod ipc_partial;
mod ipc_segments;
mod ipc_slow_closing;
mod ipc_waiting_streams;
mod ipc_writers;
mod pending_futures;
mod receive_budget;
mod receive_stall;
mod ros2_idle;
mod ros2_ipc_hostile;
mod ros2_ipc_teardown;
mod ros2_killed_server;
mod ros2_leaving;
mod ros2_services;
