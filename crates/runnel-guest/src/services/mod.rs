//! Services and their clients.

pub(crate) mod client;
pub(crate) mod responder;
pub(crate) mod server;
