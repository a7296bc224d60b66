//! Actions.

pub(crate) mod client;
pub(crate) mod server;
pub(crate) mod status;
