//! Service servers and clients in both generations.

pub(crate) mod caller;
pub(crate) mod calls;
pub(crate) mod client;
pub(crate) mod dynamic_client;
pub(crate) mod dynamic_service;
pub(crate) mod internal;
pub(crate) mod introspection;
pub(crate) mod node_services;
pub(crate) mod pending_response;
pub(crate) mod raw_services;
pub(crate) mod responder;
pub(crate) mod service;
pub(crate) mod service_waiting;
