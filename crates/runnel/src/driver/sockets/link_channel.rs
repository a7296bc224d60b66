//! Links of ROS 1 whose messages, requests or responses come by a session of this host: what its channel brings goes to them.
//! [`link_delivery`](super::link_delivery) puts messages in order while the connection brings some as well.

use runnel_delivery::{PairId, Statement};

use super::link_delivery::LinkFault;
use super::{Called, Input, Socket, Sockets};
use crate::driver::effect::{Effect, Effects};
use crate::driver::memory_input::MemoryInput;
use crate::driver::table::Key;
use crate::ipc::{Carried, Receiver, Record, SessionFault};
use crate::log_output::console;

impl Input {
    /// Memory brings the messages of the link from now on, as a Begin says.
    fn begin_channel(&mut self, epoch: u32, from: u64) -> Result<(), LinkFault> {
        let Some(pair) = &mut self.pair else { return Err(LinkFault::NotOfLink) };
        pair.memory.open_channel();
        self.from.stats.set_by_memory(true);
        console::debug!("publisher [{}]: its messages come by shared memory", self.from.publisher);
        let delivery = pair.receiving()?;
        if epoch <= delivery.receiver.epoch() {
            return Err(LinkFault::OpenedTwice);
        }
        delivery.begin_memory((epoch, from), false).map_err(SessionFault::Delivery)?;
        if pair.gave_too_much() {
            return Err(LinkFault::TooMuch);
        }
        self.give_due()
    }

    /// The channel of the link has brought something.
    fn carried(&mut self, carried: Carried) -> Result<(), LinkFault> {
        let Some(pair) = &mut self.pair else { return Err(LinkFault::NotOfLink) };
        match carried {
            Carried::Skip(statement) if PairId::from_statement(&statement).is_some() => {
                let delivery = pair.memory.delivery.as_ref();
                let number = delivery.map_or(0, |delivery| delivery.position);
                self.hear_shared(number, statement)
            }
            carried => {
                pair.memory.carried(carried, true, || self.topic.spare())?;
                self.give_due()
            }
        }
    }

    /// The channel of the link has ended: its connection carries on.
    fn close_channel(&mut self) -> Result<(), LinkFault> {
        let Some(pair) = &mut self.pair else { return Ok(()) };
        if !pair.memory.close_channel() {
            return Ok(());
        }
        self.from.stats.set_by_memory(false);
        if let Some(delivery) = &mut pair.memory.delivery {
            delivery.end_memory();
        }
        self.give_due()
    }
}

impl Sockets {
    /// What a link to a publisher has to do with memory.
    pub(in crate::driver) fn memory_input(&mut self, link: Key) -> Option<&mut MemoryInput> {
        match self.get_mut(link)? {
            Socket::Input(input) => Some(&mut input.pair.as_mut()?.memory),
            _ => None,
        }
    }

    /// Gives a sample that a record carries to the subscriptions of a link, if all of them get it and nothing is to come before it.
    #[inline]
    pub(in crate::driver) fn take_in_order(
        &mut self,
        link: Key,
        receiver: &mut Receiver,
        record: &Record,
    ) -> Result<bool, SessionFault> {
        let Some(Socket::Input(Input { topic, from, pair: Some(pair), .. })) = self.table.get_mut(link)
        else {
            return Ok(false);
        };
        if !pair.delivers_to_all() {
            return Ok(false);
        }
        pair.memory.take_in_order(receiver, record, (topic, from))
    }

    /// A channel carries what goes by a link from now on, which a Begin says of messages. False if the link has ended with that.
    pub(in crate::driver) fn begin_channel(
        &mut self,
        link: Key,
        begin: &Statement,
        effects: &mut Effects,
    ) -> bool {
        let Statement::Begin { epoch, from, .. } = *begin else { return false };
        let Some(Socket::Input(input)) = self.table.get_mut(link) else { return false };
        let begun = input.begin_channel(epoch, from);
        self.settle_link(link, begun, effects)
    }

    /// The channel of a link has brought something. A link that makes no sense ends, and no other with it, since who holds its
    /// connection can have it make none.
    pub(in crate::driver) fn carried(&mut self, link: Key, carried: Carried, effects: &mut Effects) {
        let received = match (self.table.get_mut(link), carried) {
            (Some(Socket::Input(input)), carried) => input.carried(carried),
            (Some(Socket::Served(_)), Carried::Stream(bytes)) => return self.requests(link, &bytes, effects),
            (Some(Socket::Called(_)), Carried::Stream(bytes)) => {
                return self.responses(link, &bytes, effects);
            }
            (Some(_), _) => Err(LinkFault::NotOfLink),
            // The link is gone, which the peer is about to learn.
            (None, _) => return,
        };
        self.settle_link(link, received, effects);
    }

    /// The channel of a link has ended.
    pub(in crate::driver) fn channel_closed(&mut self, link: Key, effects: &mut Effects) {
        let Some(Socket::Input(input)) = self.table.get_mut(link) else { return };
        let closed = input.close_channel();
        self.settle_link(link, closed, effects);
    }

    /// A link has got something by its channel, or that makes no sense and it ends: false then.
    fn settle_link(&mut self, link: Key, got: Result<(), LinkFault>, effects: &mut Effects) -> bool {
        if let Err(fault) = got {
            self.misbehaved(link, fault.to_string(), effects);
            return false;
        }
        if let Some(Socket::Input(input)) = self.table.get_mut(link) {
            effects.extend(input.has_untold().then_some(Effect::PublisherUntold { key: link }));
            effects.extend(input.has_share_changed().then_some(Effect::LinkShared { key: link }));
        }
        true
    }

    /// What the publisher of a link is still to be told.
    pub(in crate::driver) fn take_untold(&mut self, link: Key) -> Option<Statement> {
        self.memory_input(link)?.untold.take()
    }

    /// It could not be told yet.
    pub(in crate::driver) fn put_untold(&mut self, link: Key, reached: Statement) {
        if let Some(memory) = self.memory_input(link) {
            memory.untold = Some(reached);
        }
    }

    /// The token of a link to a service, whose requests go by the session once its responses come by it.
    pub(in crate::driver) fn token_of_called(&self, link: Key) -> Option<u128> {
        match self.get(link)? {
            Socket::Called(Called { meeting, .. }) => meeting.map(|meeting| meeting.token),
            _ => None,
        }
    }

    /// What the publisher of a link is told of how far this end is.
    pub(in crate::driver) fn reached(&self, link: Key) -> Option<Statement> {
        match self.get(link)? {
            Socket::Input(input) => input.pair.as_ref().map(|pair| pair.reached()),
            _ => None,
        }
    }

    /// A subscriber tells how far it is. Who holds its connection can have the two ends count differently: that is no fault of
    /// the session's.
    pub(in crate::driver) fn subscriber_reached(
        &mut self,
        link: Key,
        (epoch, next): (u32, u64),
        effects: &mut Effects,
    ) {
        if let Some(Socket::Output(output)) = self.get(link)
            && let Err(why) = output.publication.reached_by_link(output.conn, epoch, next)
        {
            self.misbehaved(link, why.to_string(), effects);
        }
    }
}
