//! Tests of the node API that may share one process with each other.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/datagram_relay.rs"]
mod datagram_relay;
#[path = "../common/domains.rs"]
mod domains;
#[path = "../common/dual_scene.rs"]
mod dual_scene;
#[path = "../common/embedded.rs"]
mod embedded;
#[path = "../common/fake_process.rs"]
mod fake_process;
#[path = "../common/fake_publisher.rs"]
mod fake_publisher;
#[path = "../common/fake_talker.rs"]
mod fake_talker;
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
#[path = "../common/ros2_action_scene.rs"]
mod ros2_action_scene;
#[path = "../common/ros2_pair.rs"]
mod ros2_pair;
#[path = "../common/action_scene.rs"]
mod scene;
#[path = "../common/spinning.rs"]
mod spinning;
#[path = "../common/two_graphs.rs"]
mod two_graphs;
#[path = "../common/writer_scene.rs"]
mod writer_scene;

mod action_peers;
mod callback_groups;
mod calls;
mod concurrent_actions;
mod deferred;
mod dual;
mod dual_path_loss;
mod dual_qos;
mod dual_types;
mod executor_ends;
mod executors;
mod futures;
mod graphs;
mod hostile;
mod ipc;
mod ipc_services;
mod lifecycle;
mod lifecycle_nodes;
mod linger;
mod loans;
mod message_info;
mod node_options;
mod own_parameters;
mod parameter_server;
mod params;
mod qos_events;
mod qos_samples;
mod receive_budget;
mod ros2;
mod ros2_action_requests;
mod ros2_actions;
mod ros2_bad_requests;
mod ros2_dynamic;
mod ros2_embedded;
mod ros2_graph;
mod ros2_hostile;
mod ros2_ipc;
mod ros2_keep_all;
mod ros2_loans;
mod ros2_networks;
mod ros2_raw;
mod ros2_raw_qos;
mod ros2_service_calls;
mod ros2_service_events;
mod ros2_services;
mod ros2_two_paths;
mod services;
mod sim_time;
mod statements;
mod task_wakers;
mod tf;
mod time_jumps;
mod topics;
mod udpros;
mod wait_set;
mod waits;
