//! Statements about the subscriptions that share a link.

use runnel_delivery::{PairId, PairMatch, SharedLinkSender, Statement};
use runnel_io::Reactor;
use runnel_rtps::wire::EntityId;

use super::Link;

impl Link {
    /// Whether it carries the messages of this ROS 2 writer, if there is one.
    #[inline]
    pub(in crate::data::publication) fn carries(&self, writer: Option<EntityId>) -> bool {
        match (&self.shared, writer) {
            _ if self.is_excluded => false,
            (Some(shared), Some(writer)) => shared.carries(writer.number()),
            _ => true,
        }
    }

    /// Changes which subscriptions share the link, and states the change if the link carries statements.
    pub(in crate::data::publication) fn share(
        &mut self,
        reactor: &Reactor,
        change: impl FnOnce(&mut SharedLinkSender) -> Statement,
    ) {
        if let Some(shared) = &mut self.shared {
            let statement = change(shared);
            self.state(reactor, statement);
        }
    }

    /// States that RTPS already serves a reader and delivers all its messages.
    pub(in crate::data::publication) fn declare_on_rtps(&mut self, reactor: &Reactor, pair: PairId) {
        let has_statements = self.has_statements();
        self.share(reactor, |shared| shared.declare_on_rtps(pair, 1));
        if let Some(shared) = self.shared.as_mut().filter(|_| !has_statements) {
            let epoch = shared.epoch();
            shared.standby(pair.writer, epoch);
        }
    }

    /// Handles a statement about a writer that has ended, or that was just made. The link carries all its messages.
    pub(in crate::data::publication) fn handle_unknown_writer(
        &mut self,
        reactor: &Reactor,
        statement: &Statement,
        pair: PairId,
    ) -> Result<(), String> {
        let Some(shared) = &mut self.shared else { return Ok(()) };
        match *statement {
            Statement::Ask { .. } => {
                shared.ask(pair, PairMatch::Unmatched).map_err(|error| error.to_string())?;
            }
            Statement::Reached { epoch, next, .. } => {
                shared.reached(pair, epoch, next).map_err(|error| error.to_string())?;
            }
            Statement::Return { .. } | Statement::Needed { .. } => {
                self.share(reactor, |shared| shared.return_to_link(pair, 1));
            }
            Statement::Standby { .. } => {}
            _ => return Err(format!("a statement of a kind that is the publisher's: {statement:?}")),
        }
        Ok(())
    }

    /// States what is due before a message of this writer.
    #[inline]
    pub(in crate::data::publication) fn before_message(
        &mut self,
        reactor: &Reactor,
        writer: Option<EntityId>,
    ) {
        let Some(writer) = writer else { return };
        if let Some(statement) =
            self.shared.as_mut().and_then(|shared| shared.before_message(writer.number()))
        {
            self.state(reactor, statement);
        }
    }
}
