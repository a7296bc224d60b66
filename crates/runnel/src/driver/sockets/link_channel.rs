//! Channels of IPC connections that carry the messages, requests or responses of ROS 1 links.
//! [`link_delivery`](super::link_delivery) orders messages while the connection also delivers some.

use runnel_delivery::{PairId, Statement};

use super::link_delivery::LinkFault;
use super::{CalledService, Input, Socket, Sockets};
use crate::driver::effect::{Effect, Effects};
use crate::driver::memory_input::MemoryInput;
use crate::driver::table::Key;
use crate::ipc::{ChannelData, IpcFault, Receiver, Record};
use crate::log_output::console;

impl Input {
    /// Begins delivery by shared memory, as a Begin states.
    fn begin_channel(&mut self, epoch: u32, from: u64) -> Result<(), LinkFault> {
        let Some(pair) = &mut self.pair else { return Err(LinkFault::NotOfLink) };
        pair.memory.open_channel();
        self.from.stats.set_by_memory(true);
        console::debug!("publisher [{}]: its messages come by shared memory", self.from.publisher);
        let delivery = pair.receiving()?;
        if epoch <= delivery.receiver.epoch() {
            return Err(LinkFault::OpenedTwice);
        }
        delivery.begin_memory((epoch, from), false).map_err(IpcFault::Delivery)?;
        if pair.connection_overran() {
            return Err(LinkFault::TooMuch);
        }
        self.deliver_due()
    }

    /// Takes content of the link's channel.
    fn on_channel_data(&mut self, data: ChannelData) -> Result<(), LinkFault> {
        let Some(pair) = &mut self.pair else { return Err(LinkFault::NotOfLink) };
        match data {
            ChannelData::Skip(statement) if PairId::from_statement(&statement).is_some() => {
                let delivery = pair.memory.delivery.as_ref();
                let number = delivery.map_or(0, |delivery| delivery.position);
                self.receive_shared_statement(number, statement)
            }
            data => {
                pair.memory.on_channel_data(data, true, || self.topic.spare())?;
                self.deliver_due()
            }
        }
    }

    /// Ends the link's channel: its connection delivers the rest.
    fn close_channel(&mut self) -> Result<(), LinkFault> {
        let Some(pair) = &mut self.pair else { return Ok(()) };
        if !pair.memory.close_channel() {
            return Ok(());
        }
        self.from.stats.set_by_memory(false);
        if let Some(delivery) = &mut pair.memory.delivery {
            delivery.end_memory();
        }
        self.deliver_due()
    }
}

impl Sockets {
    /// Shared memory as a link to a publisher uses it.
    pub(in crate::driver) fn memory_input(&mut self, link: Key) -> Option<&mut MemoryInput> {
        match self.get_mut(link)? {
            Socket::Input(input) => Some(&mut input.pair.as_mut()?.memory),
            _ => None,
        }
    }

    /// Gives the sample of a record to the subscriptions of a link, if all of them get it and no other message comes
    /// before it.
    #[inline]
    pub(in crate::driver) fn take_in_order(
        &mut self,
        link: Key,
        receiver: &mut Receiver,
        record: &Record,
    ) -> Result<bool, IpcFault> {
        let Some(Socket::Input(Input { topic, from, pair: Some(pair), .. })) = self.table.get_mut(link)
        else {
            return Ok(false);
        };
        if !pair.delivers_to_all() {
            return Ok(false);
        }
        pair.memory.take_in_order(receiver, record, (topic, from))
    }

    /// Opens a channel for a link, as a Begin states; false if the link has ended because of that.
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

    /// Takes content of a link's channel. Invalid content ends this link only, since a third party on the link's
    /// connection can cause it.
    pub(in crate::driver) fn on_channel_data(&mut self, link: Key, data: ChannelData, effects: &mut Effects) {
        let received = match (self.table.get_mut(link), data) {
            (Some(Socket::Input(input)), data) => input.on_channel_data(data),
            (Some(Socket::ServedClient(_)), ChannelData::Stream(bytes)) => {
                return self.requests(link, &bytes, effects);
            }
            (Some(Socket::CalledService(_)), ChannelData::Stream(bytes)) => {
                return self.responses(link, &bytes, effects);
            }
            (Some(_), _) => Err(LinkFault::NotOfLink),
            // The link has ended, of which the peer will learn soon.
            (None, _) => return,
        };
        self.settle_link(link, received, effects);
    }

    /// Closes the channel of a link.
    pub(in crate::driver) fn channel_closed(&mut self, link: Key, effects: &mut Effects) {
        let Some(Socket::Input(input)) = self.table.get_mut(link) else { return };
        let closed = input.close_channel();
        self.settle_link(link, closed, effects);
    }

    /// Handles the result of a channel's input. An error ends the link: false then.
    fn settle_link(&mut self, link: Key, got: Result<(), LinkFault>, effects: &mut Effects) -> bool {
        if let Err(fault) = got {
            self.misbehaved(link, fault.to_string(), effects);
            return false;
        }
        if let Some(Socket::Input(input)) = self.table.get_mut(link) {
            effects.extend(input.has_unsent_report().then_some(Effect::PublisherReportDue { key: link }));
            effects.extend(input.has_share_changed().then_some(Effect::LinkShareChanged { key: link }));
        }
        true
    }

    /// Takes the report that is due to a link's publisher.
    pub(in crate::driver) fn take_unsent_report(&mut self, link: Key) -> Option<Statement> {
        self.memory_input(link)?.unsent_report.take()
    }

    /// Returns a report that could not be sent.
    pub(in crate::driver) fn put_unsent_report(&mut self, link: Key, reached: Statement) {
        if let Some(memory) = self.memory_input(link) {
            memory.unsent_report = Some(reached);
        }
    }

    /// Token of a link to a service. Requests switch to the IPC connection after the responses.
    pub(in crate::driver) fn token_of_called(&self, link: Key) -> Option<u128> {
        match self.get(link)? {
            Socket::CalledService(CalledService { local_peer, .. }) => {
                local_peer.map(|local_peer| local_peer.token)
            }
            _ => None,
        }
    }

    /// Report to a link's publisher about this end's position.
    pub(in crate::driver) fn reached(&self, link: Key) -> Option<Statement> {
        match self.get(link)? {
            Socket::Input(input) => input.pair.as_ref().map(|pair| pair.reached()),
            _ => None,
        }
    }

    /// Handles a subscriber's report. A third party on the link's connection can make both ends count differently, so
    /// an error ends only the link.
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
