//! The sending side of a link of UDPROS. There is no flow control: what the kernel does not take at once is dropped, with
//! the rest of its message.

use std::io::IoSlice;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::{Datagrams, Sent, Token, clock};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::LinkStats;
use runnel_ros1::peer_text::sanitize;
use runnel_ros1::udpros::Fragmenter;
use runnel_rtps::wire::EntityId;

/// Refusals in a row after which a subscriber counts as gone, and how long after the first of them that is at the
/// soonest: one that is started again may take the same port.
const REFUSALS: u32 = 3;
const REFUSED_FOR: Duration = Duration::from_secs(1);

/// Refusals are in a row unless so many messages were sent, and so much time has passed, without one: a host tells of
/// one a second at most, however many messages it refuses.
const UNREFUSED: u32 = 10;
const UNREFUSED_FOR: Duration = Duration::from_secs(10);

/// A link to a subscriber.
pub(super) struct DatagramLink {
    pub(super) conn: ConnId,
    pub(super) token: Token,
    pub(super) socket: Arc<Datagrams>,
    pub(super) fragmenter: Fragmenter,
    pub(super) stats: Arc<LinkStats>,
    pub(super) topic: String,
    pub(super) subscriber: String,
    /// By what the subscriber's node is known in both graphs, if it is in both, and where it is.
    pub(super) origin: Option<u64>,
    pub(super) address: Option<IpAddr>,
    /// Writers that served the subscriber's node by RTPS before the link stood, and do so still.
    pub(super) standby: Vec<EntityId>,
    /// The subscriber is gone; the driver is about to learn of it.
    pub(super) refused: bool,
    pub(super) refusals: Refusals,
    /// Messages that were too long.
    pub(super) too_long: u64,
}

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Offered {
    /// The kernel has it.
    Sent,
    /// It is dropped, or its rest is.
    Dropped,
    /// It is too long for datagrams, of which users should know: with the line to log.
    TooLong(String),
    /// Dropped, and the subscriber is gone.
    Refused,
}

impl DatagramLink {
    /// Whether it carries what this writer, if there is one, writes in ROS 2.
    pub(super) fn carries(&self, writer: Option<EntityId>) -> bool {
        writer.is_none_or(|writer| !self.standby.contains(&writer))
    }

    /// Sends a message.
    pub(super) fn offer(&mut self, message: &[u8]) -> Offered {
        let datagrams = match self.fragmenter.fragment(message) {
            Ok(datagrams) => datagrams,
            Err(error) => {
                self.too_long += 1;
                let (topic, subscriber, too_long) = (&self.topic, sanitize(&self.subscriber), self.too_long);
                // Each time twice as many have come, since a publisher may send nothing else.
                if !too_long.is_power_of_two() {
                    return Offered::Dropped;
                }
                return Offered::TooLong(format!(
                    "topic {topic}: message dropped for subscriber [{subscriber}] over UDPROS: {error} ({too_long} so far)"
                ));
            }
        };
        for (head, part) in datagrams {
            match self.socket.send_vectored(&[IoSlice::new(head.as_ref()), IoSlice::new(part)]) {
                Sent::Taken => {}
                Sent::Refused if self.refusals.refused(clock::monotonic()) => return Offered::Refused,
                Sent::Refused | Sent::Dropped => return Offered::Dropped,
            }
        }
        self.refusals.sent();
        Offered::Sent
    }
}

/// What a subscriber's host has said of nobody taking its datagrams. One such word is no proof: a subscriber may begin to
/// read after the first of them came.
#[derive(Default)]
pub(super) struct Refusals {
    count: u32,
    /// When the first of the row and the last came.
    since: Instant,
    last: Instant,
    /// Messages sent after the last.
    sent: u32,
}

impl Refusals {
    /// A message was sent.
    fn sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// One came; whether the subscriber counts as gone.
    pub(super) fn refused(&mut self, now: Instant) -> bool {
        let over = self.sent >= UNREFUSED && now.since(self.last) >= UNREFUSED_FOR;
        if over || self.count == 0 {
            (self.count, self.since) = (0, now);
        }
        self.count = self.count.saturating_add(1);
        (self.last, self.sent) = (now, 0);
        self.count >= REFUSALS && now.since(self.since) >= REFUSED_FOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant(millis * 1_000_000)
    }

    fn refused_at(refusals: &mut Refusals, times: &[u64]) -> Vec<bool> {
        times.iter().map(|time| refusals.refused(at(*time))).collect()
    }

    #[test]
    fn a_subscriber_is_gone_after_several_refusals_over_some_time() {
        assert_eq!(
            refused_at(&mut Refusals::default(), &[5, 6, 7, 1004, 1005]),
            [false, false, false, false, true]
        );
        assert_eq!(refused_at(&mut Refusals::default(), &[0, 60_000, 120_000]), [false, false, true]);
    }

    #[test]
    fn refusals_with_many_messages_and_much_time_between_them_are_not_in_a_row() {
        for (messages, pause, gone) in [(10, 10_000, false), (9, 10_000, true), (1000, 9_999, true)] {
            let mut refusals = Refusals::default();
            refused_at(&mut refusals, &[0, 1000]);
            (0..messages).for_each(|_| refusals.sent());
            assert_eq!(refusals.refused(at(1000 + pause)), gone, "{messages} messages in {pause} ms");
        }
    }
}
