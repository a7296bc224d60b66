//! Records of sessions. Samples that come in order go to their subscriptions at once; what other records say is for the loop to
//! hand on.

use super::{Entry, LOOKS, Sessions};
use crate::driver::limits::SCRATCH;
use crate::driver::table::{Key, Owner};
use crate::ipc::{Heard, Receiver, Record, SessionFault};

/// Records taken from one session before others get their turn.
const BATCH: usize = 256;

/// Words of records after which others get their turn, too: no more than one read of a connection.
const BATCH_WORDS: u64 = (SCRATCH / 8) as u64;

/// Links that may come by one session.
pub(in crate::driver) const MOST_CHANNELS: usize = 1 << 16;

/// What is taken from a session before others get their turn.
#[derive(Default)]
pub(in crate::driver) struct Batch {
    /// Records of the batch.
    count: usize,
    /// Where it begins in the ring, once it has begun.
    begun: Option<u64>,
    has_any: bool,
    network: Network,
}

/// Whether the network was read before the next record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Network {
    #[default]
    Unread,
    /// It was, and is not read again.
    Read,
    ReadBefore,
}

impl Batch {
    /// Whether a record was taken.
    pub(in crate::driver) fn has_any(&self) -> bool {
        self.has_any
    }

    /// Begins another batch behind what the network is read for now; false if that was done.
    pub(in crate::driver) fn begin_behind_network(&mut self) -> bool {
        let is_first = self.network == Network::Unread;
        if is_first {
            (self.count, self.begun, self.network) = (0, None, Network::Read);
        }
        is_first
    }

    fn note_taken(&mut self, heard: &Heard) {
        self.count += 1;
        self.has_any = true;
        if self.network == Network::Read && matches!(heard, Heard::OpenSamples { .. }) {
            self.network = Network::ReadBefore;
        }
    }
}

/// What [`Sessions::take_records`] has come to.
pub(in crate::driver) enum Taken {
    /// Nothing more is taken now.
    All,
    /// A record that is done with, and what it says of its channel.
    Record { channel: u32, heard: Heard },
    /// The network is to be read before the next record.
    NetworkFirst,
}

impl Sessions {
    /// Looks at the rings again and again, until there is something, or `enough` says so, or the reactor is to be looked at
    /// as well.
    pub(crate) fn look_out(&self, enough: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            let mut standing = self.standing.iter();
            if self.standing.is_empty() || standing.any(|session| self.has_record(*session)) || enough() {
                break;
            }
        }
    }

    /// Whether there is a record of a session.
    pub(in crate::driver) fn has_record(&self, session: Key) -> bool {
        self.open.get(session).is_some_and(|open| open.receiver.has_record())
    }

    /// Words of a session's ring that are done with, while it stands or ends.
    pub(in crate::driver) fn position(&self, session: Key) -> Option<u64> {
        self.open.get(session).map(|open| open.receiver.position())
    }

    /// Takes records of a session up to one of which others are told. Samples in order of a link of ROS 1 are for `of_link` to
    /// take.
    pub(in crate::driver) fn take_records(
        &mut self,
        session: Key,
        batch: &mut Batch,
        mut of_link: impl FnMut(Key, &mut Receiver, &Record) -> Result<bool, SessionFault>,
    ) -> Result<Taken, SessionFault> {
        let Some(open) = self.open.get_mut(session) else { return Ok(Taken::All) };
        let mut next = None;
        if open.ending.is_none() && !open.receiver.peer_has_gone_on() {
            let most = if open.receiver.copies() { 1 } else { BATCH };
            let begun = *batch.begun.get_or_insert(open.receiver.position());
            while batch.count < most
                && open.receiver.position() - begun < BATCH_WORDS
                && let Some(record) = open.receiver.peek()?
            {
                let link = open.link_of(record.channel).filter(|_| record.is_sample());
                let is_taken = match link.map(|link| (link.owner(), link)) {
                    Some((Owner::Sockets, link)) => of_link(link, &mut open.receiver, &record)?,
                    Some((Owner::Sessions, pair)) => match self.entries.get_mut(pair) {
                        Some(Entry::SampleInput(input)) => {
                            input.take_in_order(&mut open.receiver, &record)?
                        }
                        _ => false,
                    },
                    None => false,
                };
                if !is_taken {
                    next = Some(record);
                    break;
                }
                batch.count += 1;
                batch.has_any = true;
            }
        }
        let mut taken = Taken::All;
        if let Some(record) = next {
            let heard = open.receiver.hear(&record)?;
            if batch.network == Network::Read || !self.is_behind_network(session, &heard) {
                batch.note_taken(&heard);
                if let Some(open) = self.open.get_mut(session) {
                    open.receiver.pass(&record);
                }
                return Ok(Taken::Record { channel: record.channel, heard });
            }
            taken = Taken::NetworkFirst;
        }
        if batch.has_any
            && let Some(open) = self.open.get_mut(session)
            && open.receiver.tell()
        {
            open.sender.ring();
        }
        Ok(taken)
    }

    /// Takes one packet of a session's socket. An error is the end of the session: `None` in good order.
    pub(in crate::driver) fn take_packet(
        &mut self,
        session: Key,
    ) -> Option<Result<(), Option<SessionFault>>> {
        let open = self.open.get_mut(session)?;
        let taken = open.receiver.packet();
        // Records may lend from what came.
        if matches!(taken, Ok(true)) {
            open.sender.ring();
        }
        Some(taken.map(drop))
    }

    /// What a channel of a session carries.
    pub(in crate::driver) fn link_of(&self, session: Key, channel: u32) -> Option<Key> {
        self.open.get(session)?.link_of(channel)
    }

    /// All that the channels of a session carry.
    pub(in crate::driver) fn links_of(&self, session: Key) -> Vec<Key> {
        self.open.get(session).into_iter().flat_map(|open| &open.channels).copied().flatten().collect()
    }

    /// A channel carries this link from now on, which has given all that went before.
    pub(in crate::driver) fn set_channel(&mut self, session: Key, channel: u32, link: Key) {
        let Some(open) = self.open.get_mut(session) else { return };
        let channel = channel as usize;
        if open.channels.len() <= channel {
            open.channels.resize(channel + 1, None);
        }
        open.channels[channel] = Some(link);
    }

    /// A channel carries nothing more; what it carried.
    pub(in crate::driver) fn close_channel(&mut self, session: Key, channel: u32) -> Option<Key> {
        let open = self.open.get_mut(session)?;
        open.late.close(channel);
        open.channels.get_mut(channel as usize).and_then(Option::take)
    }

    /// No channel carries this link.
    pub(in crate::driver) fn forget_channel_of(&mut self, session: Key, link: Key) {
        let channels = self.open.get_mut(session).into_iter().flat_map(|open| &mut open.channels);
        channels.filter(|carried| **carried == Some(link)).for_each(|carried| *carried = None);
    }
}
