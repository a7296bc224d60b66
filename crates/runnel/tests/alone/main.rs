//! Tests that look at what the whole process has, such as descriptors, memory, threads and log lines, or that end what it has.
//! Each holds [`process::alone`] while it runs.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/domains.rs"]
mod domains;
#[path = "../common/end_sessions.rs"]
mod end_sessions;
#[path = "../common/fake_process.rs"]
mod fake_process;
#[path = "../common/fake_publisher.rs"]
mod fake_publisher;
#[path = "../common/group.rs"]
mod group;
#[path = "../common/held.rs"]
mod held;
#[path = "../common/ipc_scene.rs"]
mod ipc_scene;
#[path = "../common/logged.rs"]
mod logged;
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/played.rs"]
mod played;
#[path = "../common/process.rs"]
mod process;
#[path = "../common/raw.rs"]
mod raw;
#[path = "../common/ros2_pair.rs"]
mod ros2_pair;
#[path = "../common/writer_scene.rs"]
mod writer_scene;

mod descriptors;
mod dual_soak;
mod ipc_deaths;
mod ipc_greetings;
mod ipc_hostile;
mod ipc_late;
mod ipc_limits;
mod ipc_partial;
mod ipc_segments;
mod ipc_slow_closing;
mod ipc_unsteady;
mod ipc_writers;
mod keeper;
mod pending_futures;
mod receive_budget;
mod receive_stall;
mod ros2_idle;
mod ros2_ipc_ends;
mod ros2_ipc_hostile;
mod ros2_leaving;
