//! The ROS 1 engines in the virtual network.

#[path = "../udpros_common/mod.rs"]
mod udpros_common;

mod closing;
mod discovery;
mod linked_pair;
mod master_liveness;
mod master_loss;
mod noise;
mod params;
mod publisher_headers;
mod publisher_update;
mod reconnect;
mod request_topic;
mod same_host;
mod services;
mod slave_api;
mod storms;
mod subscriber_headers;
mod takeover;
mod udpros;
mod udpros_publishing;
mod udpros_subscribing;
