//! What the node has to do at some time.

use super::service_links::ServiceLinkId;
use crate::net::ConnId;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The lists of publishers count whole again.
    Lists,
    /// The header on this incoming connection is late.
    IncomingHeader(ConnId),
    /// The next step of the link to a publisher. The deadline of a link that is gone may stay:
    /// `link_due` then finds no link.
    Link { topic: String, uri: String },
    /// The end of what a link to a service may take.
    ServiceLink(ServiceLinkId),
}
