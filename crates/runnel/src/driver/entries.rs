//! What threads of the program ask of the driver, which they hold meanwhile: nodes, topics, services, the graph. What that makes others
//! do is an [`Effect`](super::effect::Effect) as any other.

mod graph;
mod nodes;
mod services;
mod sim_time;
mod topics;

pub(crate) use nodes::Ros1End;
pub(crate) use topics::Inputs;
