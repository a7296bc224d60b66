//! Links of services whose channel was opened before their connection had given all that went by it. What comes by the channel waits
//! here until then, and holds up no other link of the session.
//!
//! A connection that never gives it is not what it seems: somebody between the two ends may have joined it to another. So
//! such a link ends alone, and is made anew; the session stands.

use runnel_core::time::Instant;
use runnel_io::clock;

use super::Sessions;
use super::link_delivery::PATIENCE;
use crate::driver::Driver;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::sockets::Given;
use crate::driver::table::Key;

/// Bytes that may wait for the links of one session, [`OVERHEAD`] included.
const MOST_BYTES: usize = 16 << 20;

/// What a piece takes beside its bytes.
const OVERHEAD: usize = 64;

/// The links of one session that wait.
#[derive(Default)]
pub(super) struct LateLinks(Vec<Late>);

struct Late {
    link: Key,
    /// `None` once the peer has closed it.
    channel: Option<u32>,
    /// Bytes of the link's stream that its connection is to give first.
    before: u64,
    since: Instant,
    pieces: Vec<Vec<u8>>,
    /// Bytes of those.
    bytes: usize,
}

impl LateLinks {
    /// A channel carries nothing more.
    pub(super) fn close(&mut self, channel: u32) {
        self.0.iter_mut().filter(|late| late.channel == Some(channel)).for_each(|late| late.channel = None);
    }

    /// The link for which most waits, if that is more than may wait for all.
    fn beyond_bound(&self) -> Option<Key> {
        let bytes: usize = self.0.iter().map(|late| late.bytes).sum();
        let most = self.0.iter().max_by_key(|late| late.bytes)?;
        (bytes > MOST_BYTES).then_some(most.link)
    }

    fn take(&mut self, link: Key) -> Option<Late> {
        let index = self.0.iter().position(|late| late.link == link)?;
        Some(self.0.remove(index))
    }
}

impl Given {
    /// Why its link is given up.
    fn why(&self) -> &'static str {
        match self {
            Self::TooMuch => "its connection gave more than is said to have gone there",
            Self::Never => "its connection ended",
            Self::NotYet | Self::All => "its connection did not give what is said to have gone there",
        }
    }
}

impl Sessions {
    /// Has a link go on by a channel when its connection has given `before` bytes of its stream.
    pub(super) fn wait_for_connection(
        &mut self,
        session: Key,
        link: Key,
        (channel, before): (u32, u64),
        effects: &mut Effects,
    ) {
        let Some(open) = self.open.get_mut(session) else { return };
        if open.late.0.iter().any(|late| late.link == link) {
            return self.give_up(session, link, "it was opened twice in shared memory", effects);
        }
        let (channel, since) = (Some(channel), clock::monotonic());
        open.late.0.push(Late { link, channel, before, since, pieces: Vec::new(), bytes: 0 });
        self.look_later(since, effects);
    }

    /// A piece of a stream came by a channel that carries no link yet, or none any more.
    pub(super) fn let_wait(&mut self, session: Key, channel: u32, piece: Vec<u8>, effects: &mut Effects) {
        let Some(open) = self.open.get_mut(session) else { return };
        let Some(late) = open.late.0.iter_mut().find(|late| late.channel == Some(channel)) else { return };
        late.bytes += OVERHEAD + piece.len();
        late.pieces.push(piece);
        if let Some(link) = open.late.beyond_bound() {
            self.give_up(session, link, "too much waits for what its connection is to give first", effects);
        }
    }

    /// Has links that wait looked at in the next turn, one of them since then.
    pub(super) fn look_later(&mut self, since: Instant, effects: &mut Effects) {
        let first = self.late_since.map_or(since, |other| other.min(since));
        self.late_since = Some(first);
        effects.schedule(Deadline::LateLinks, first + PATIENCE);
    }

    /// Links that wait, for how many bytes of their streams and since when.
    fn late_links(&self, session: Key) -> Vec<(Key, u64, Instant)> {
        let late = self.open.get(session).into_iter().flat_map(|open| &open.late.0);
        late.map(|late| (late.link, late.before, late.since)).collect()
    }

    /// Ends a link that waits, with what waits for it.
    fn give_up(&mut self, session: Key, link: Key, why: &'static str, effects: &mut Effects) {
        let late = self.open.get_mut(session).and_then(|open| open.late.take(link));
        effects.extend(late.map(|_| Effect::Misbehaved { link, why }));
    }

    /// A session is over, and with it what was to follow: links for which some of it waits already end, the others go on
    /// over their connections.
    pub(super) fn give_up_late(&mut self, session: Key, effects: &mut Effects) {
        let Some(open) = self.open.get_mut(session) else { return };
        open.late.0.retain(|late| !late.pieces.is_empty());
        let links: Vec<Key> = open.late.0.iter().map(|late| late.link).collect();
        for link in links {
            let why = "its session ended before its connection had given what went there";
            self.give_up(session, link, why, effects);
        }
    }
}

impl Driver {
    /// Has links go on whose connections have given what they are to give, and ends those that have waited too long. True if
    /// there were any.
    pub(super) fn catch_up(&mut self, session: Key) -> bool {
        let mut any = false;
        for (link, before, since) in self.sessions.late_links(session) {
            match self.sockets.read_up_to(link, before, &mut self.effects) {
                Given::NotYet if clock::monotonic().since(since) < PATIENCE => {
                    self.sessions.look_later(since, &mut self.effects);
                    continue;
                }
                Given::All => self.go_on(session, link),
                wrong => self.sessions.give_up(session, link, wrong.why(), &mut self.effects),
            }
            any = true;
        }
        any
    }

    /// The connection of a link has given all: what waits comes, and then what the channel brings.
    fn go_on(&mut self, session: Key, link: Key) {
        let late = self.sessions.open.get_mut(session).and_then(|open| open.late.take(link));
        let Some(late) = late else { return };
        late.pieces.iter().for_each(|piece| self.hear_piece(link, piece));
        if let Some(channel) = late.channel {
            self.carries(session, channel, link);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_links_for_which_too_much_waits_that_with_most_is_beyond_the_bound() {
        let late = |number: u64, bytes: usize| Late {
            link: Key::from_bits(number),
            channel: None,
            before: 0,
            since: Instant::default(),
            pieces: Vec::new(),
            bytes,
        };
        let beyond = |bytes: [usize; 2]| {
            LateLinks(vec![late(0, bytes[0]), late(1, bytes[1])]).beyond_bound().map(Key::to_bits)
        };
        assert_eq!(beyond([MOST_BYTES / 2, MOST_BYTES / 2]), None);
        assert_eq!(beyond([MOST_BYTES / 2, MOST_BYTES / 2 + 1]), Some(1));
        assert_eq!(beyond([MOST_BYTES, 1]), Some(0));
        assert_eq!(LateLinks::default().beyond_bound(), None);
    }
}
