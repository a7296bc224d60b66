//! Requests of the program's threads, which lock the driver meanwhile: nodes, topics, services, the graph. Their
//! effects on components are queued like all others ([`Effect`](super::effect::Effect)).

mod graph;
mod nodes;
mod service_waits;
mod services;
mod sim_time;
mod topics;

pub(crate) use nodes::Ros1End;
pub(crate) use topics::Inputs;
