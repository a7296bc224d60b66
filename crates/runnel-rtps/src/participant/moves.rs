//! Participants that are said to have moved.
//!
//! One that has met us says so by our prefix, from where it is now. Both prefixes are told to everybody by multicast, so
//! anybody may say that in its name: it is asked first where it was, and is believed to have moved only if nothing comes
//! from there.

use super::{Participant, Peer};
use crate::announce::ParticipantData;
use crate::evidence::{QUIET, Verdict};
use crate::stored::Lend;
use crate::wire::GuidPrefix;
use core::net::SocketAddr;
use core::time::Duration;
use runnel_core::time::Instant;

/// How often one is asked whether it is still where it was, and for how long each time.
const ASK_TIMES: u32 = 8;
const ASK_EVERY: Duration = Duration::from_millis(40);

/// A participant is said to be elsewhere, and has yet to answer from where it was.
#[derive(Debug)]
pub(super) struct Move {
    from: SocketAddr,
    data: ParticipantData,
    asked: u32,
    /// When it is asked again, or believed.
    pub next: Instant,
}

impl Peer {
    /// What would end its links or keep it from being understood is believed when it says so several times: a shorter lease,
    /// another vendor, other endpoints of discovery. Until then `data` has what it said before, if it had said that twice.
    pub(super) fn keep_what_is_contested(&mut self, now: Instant, data: &mut ParticipantData) {
        let shortens = match (data.lease, self.data.lease) {
            (Some(new), Some(old)) => new < old,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let known = (self.data.vendor, self.data.builtin);
        if !shortens && (data.vendor, data.builtin) == known {
            return self.evidence.confirm(now);
        }
        if !self.evidence.was_confirmed() {
            // What was said once is no more likely than what is said now.
            return;
        }
        // Announcements repeat one number: only time tells them from their copies.
        let mark = now.0 / QUIET.as_nanos() as u64;
        if self.evidence.contradict(now, mark) != Verdict::Restart {
            (data.vendor, data.builtin) = known;
            data.lease = if shortens { self.data.lease } else { data.lease };
        }
    }
}

impl<P: Lend> Participant<P> {
    /// Somebody says from an unknown address, and by our name, that one who is met is there now.
    pub(super) fn said_to_have_moved(&mut self, now: Instant, from: SocketAddr, data: ParticipantData) {
        let prefix = data.prefix;
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        match &mut peer.moves {
            Some(moves) => (moves.from, moves.data) = (from, data),
            // It has just been heard from where it was: there is no need to ask.
            None if peer.heard + ASK_EVERY > now => {}
            None => {
                peer.moves = Some(Move { from, data, asked: 0, next: now });
                self.ask_whether_moved(now, prefix);
            }
        }
    }

    /// Asks it, if that is due; one that has been asked often enough and does not answer has moved.
    pub(super) fn ask_whether_moved(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        if let Some(moves) = peer.moves.as_mut().filter(|moves| moves.next <= now) {
            if moves.asked < ASK_TIMES {
                (moves.asked, moves.next) = (moves.asked + 1, now + ASK_EVERY);
                self.remind(prefix);
            } else if let Some(Move { from, data, .. }) = peer.moves.take() {
                self.announced_from(now, from, data);
            }
        }
        self.arm_peer(prefix);
    }
}
