//! Publishers, subscriptions, loaned and received messages.

pub(crate) mod borrowed;
pub(crate) mod bridging;
pub(crate) mod loan;
pub(crate) mod message_info;
pub(crate) mod message_stream;
pub(crate) mod publisher;
pub(crate) mod subscription;
