//! The name by which the master knows a node that stands by to take the place of another one.
//!
//! A master knows one node of each name, and ends that when another registers under it. So a node that is to replace
//! another registers under a name of its own first, gets its links, and takes over the name once the other has left it.

use runnel_core::time::Instant;

use super::conn::Purpose;
use super::{Node, Role};

/// A name that the node had, and what is registered under it.
#[derive(Debug)]
pub(super) struct FormerName {
    name: String,
    known: Vec<(Role, String)>,
}

impl Node {
    /// Registers everything under the node's own name, in place of that of its standby. Links stay, since the node's
    /// address does. The other node of this name must have unregistered.
    pub fn take_over_name(&mut self, now: Instant) {
        let Some(name) = self.config.standby_name.take() else { return };
        let known = self.registrar.rename();
        self.former = Some(FormerName { name, known });
        self.ask_master(now);
    }

    /// Ends the registrations under the former name, once the master has all under the new one: a topic without a
    /// publisher would end the links of its subscribers.
    pub(super) fn unregister_former_name(&mut self, now: Instant) {
        if self.registrar.is_settled()
            && let Some(FormerName { name, known }) = self.former.take()
            && !known.is_empty()
        {
            self.unregister_under(now, &name, &known, Purpose::UnregisterFormer);
        }
    }
}
