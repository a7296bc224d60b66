//! Links of services whose channel was opened before their connection had given all that went by it. What comes by the channel waits
//! here until then, and holds up no other link of the session.
//!
//! A connection that never gives it is not what it seems: somebody between the two ends may have joined it to another. So
//! such a link ends alone, and is made anew; the session stands.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::Sessions;
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::table::Key;

/// How long a link may wait: what was sent on one host has arrived.
pub(in crate::driver) const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes that may wait for the links of one session, [`OVERHEAD`] included.
const MOST_BYTES: usize = 16 << 20;

/// What a piece takes beside its bytes.
const OVERHEAD: usize = 64;

/// The links of one session that wait.
#[derive(Default)]
pub(super) struct LateLinks(Vec<Late>);

/// What waits of a link.
pub(in crate::driver) struct Late {
    link: Key,
    /// `None` once the peer has closed it.
    pub(in crate::driver) channel: Option<u32>,
    /// Bytes of the link's stream that its connection is to give first.
    before: u64,
    since: Instant,
    pub(in crate::driver) pieces: Vec<Vec<u8>>,
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

impl Sessions {
    /// Has a link go on by a channel when its connection has given `before` bytes of its stream.
    pub(in crate::driver) fn wait_for_connection(
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
    pub(in crate::driver) fn let_wait(
        &mut self,
        session: Key,
        channel: u32,
        piece: Vec<u8>,
        effects: &mut Effects,
    ) {
        let Some(open) = self.open.get_mut(session) else { return };
        let Some(late) = open.late.0.iter_mut().find(|late| late.channel == Some(channel)) else { return };
        late.bytes += OVERHEAD + piece.len();
        late.pieces.push(piece);
        if let Some(link) = open.late.beyond_bound() {
            self.give_up(session, link, "too much waits for what its connection is to give first", effects);
        }
    }

    /// Has links that wait looked at in the next turn, one of them since then.
    pub(in crate::driver) fn look_later(&mut self, since: Instant, effects: &mut Effects) {
        let first = self.late_since.map_or(since, |other| other.min(since));
        self.late_since = Some(first);
        effects.schedule(Deadline::LateLinks, first + PATIENCE);
    }

    /// Links that wait, for how many bytes of their streams and since when.
    pub(in crate::driver) fn late_links(&self, session: Key) -> Vec<(Key, u64, Instant)> {
        let late = self.open.get(session).into_iter().flat_map(|open| &open.late.0);
        late.map(|late| (late.link, late.before, late.since)).collect()
    }

    /// The connection of a link has given all that it waited for; what waits of it.
    pub(in crate::driver) fn take_late(&mut self, session: Key, link: Key) -> Option<Late> {
        self.open.get_mut(session)?.late.take(link)
    }

    /// A link of messages goes by memory, and its connection may owe some of before that.
    pub(in crate::driver) fn owe(&mut self, link: Key) {
        self.owed.push((link, clock::monotonic()));
    }

    /// It still does, since then.
    pub(in crate::driver) fn owe_since(&mut self, link: Key, since: Instant, effects: &mut Effects) {
        self.owed.push((link, since));
        self.look_later(since, effects);
    }

    /// Links whose connections may owe something, and since when.
    pub(in crate::driver) fn take_owed(&mut self) -> Vec<(Key, Instant)> {
        std::mem::take(&mut self.owed)
    }

    /// Ends a link that waits, with what waits for it.
    pub(in crate::driver) fn give_up(
        &mut self,
        session: Key,
        link: Key,
        why: &'static str,
        effects: &mut Effects,
    ) {
        let late = self.open.get_mut(session).and_then(|open| open.late.take(link));
        effects.extend(late.map(|_| Effect::Misbehaved { link, why }));
    }

    /// A session is over, and with it what was to follow: links for which some of it waits already end, the others go on
    /// over their connections.
    pub(in crate::driver) fn give_up_late(&mut self, session: Key, effects: &mut Effects) {
        let Some(open) = self.open.get_mut(session) else { return };
        open.late.0.retain(|late| !late.pieces.is_empty());
        let links: Vec<Key> = open.late.0.iter().map(|late| late.link).collect();
        for link in links {
            let why = "its session ended before its connection had given what went there";
            self.give_up(session, link, why, effects);
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
