//! Deadlines of a node.

use super::service_links::ServiceLinkId;
use crate::net::ConnId;

/// A deadline of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The master's publisher lists are complete again, and may end links.
    Lists,
    /// The header on this incoming connection has not arrived in time.
    IncomingHeader(ConnId),
    /// The next step of a link to a publisher. The timer may outlive its link; `link_due` then finds no link.
    Link { topic: String, uri: String },
    /// The time-out of a link to a service, or the next lookup of a service that is awaited.
    ServiceLink(ServiceLinkId),
}
