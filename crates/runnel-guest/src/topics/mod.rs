//! Publishers and subscriptions.

pub(crate) mod message_info;
pub(crate) mod publisher;
mod qos;
pub(crate) mod subscription;
