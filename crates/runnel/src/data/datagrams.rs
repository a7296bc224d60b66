//! Sending side of a UDPROS link. There is no flow control: if the kernel does not accept a datagram at once, the rest
//! of the message is dropped.

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

/// A subscriber counts as gone after this many refusals in a row, and not earlier than this time after the first of
/// them: a restarted subscriber may use the same port.
const REFUSALS: u32 = 3;
const REFUSED_FOR: Duration = Duration::from_secs(1);

/// Refusals are in a row unless this many messages were sent, and this time has passed, without one. A host reports at
/// most one refusal per second, however many messages it refuses.
const UNREFUSED: u32 = 10;
const UNREFUSED_FOR: Duration = Duration::from_secs(10);

/// A UDPROS link to a subscriber.
pub(super) struct DatagramLink {
    pub(super) conn: ConnId,
    pub(super) token: Token,
    pub(super) socket: Arc<Datagrams>,
    pub(super) fragmenter: Fragmenter,
    pub(super) stats: Arc<LinkStats>,
    pub(super) topic: String,
    pub(super) subscriber: String,
    /// The id of the subscriber's node, if that is a dual node, and its address.
    pub(super) dual_node_id: Option<u64>,
    pub(super) address: Option<IpAddr>,
    /// It gets no messages: the publisher belongs to a bridge, and the subscriber to another one or to a dual node.
    pub(super) is_excluded: bool,
    /// Writers that served the subscriber's node by RTPS before the link was established, and still do.
    pub(super) standby: Vec<EntityId>,
    /// The subscriber is gone; the driver is about to be notified.
    pub(super) refused: bool,
    pub(super) refusals: Refusals,
    /// Messages that were too long.
    pub(super) too_long: u64,
}

/// What happened to a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// The kernel has accepted it.
    Sent,
    /// It was dropped, at least in part.
    Dropped,
    /// It is too long for datagrams. Has the line to log, if one is due.
    TooLong(String),
    /// It was dropped, and the subscriber is gone.
    Refused,
}

impl DatagramLink {
    /// Whether it carries the messages of this ROS 2 writer, if there is one.
    pub(super) fn carries(&self, writer: Option<EntityId>) -> bool {
        !self.is_excluded && writer.is_none_or(|writer| !self.standby.contains(&writer))
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &[u8]) -> SendOutcome {
        let datagrams = match self.fragmenter.fragment(message) {
            Ok(datagrams) => datagrams,
            Err(error) => {
                self.too_long += 1;
                let (topic, subscriber, too_long) = (&self.topic, sanitize(&self.subscriber), self.too_long);
                // Only powers of two are logged, since a publisher may send nothing else.
                if !too_long.is_power_of_two() {
                    return SendOutcome::Dropped;
                }
                return SendOutcome::TooLong(format!(
                    "topic {topic}: message dropped for subscriber [{subscriber}] over UDPROS: {error} ({too_long} so far)"
                ));
            }
        };
        for (head, part) in datagrams {
            match self.socket.send_vectored(&[IoSlice::new(head.as_ref()), IoSlice::new(part)]) {
                Sent::Taken => {}
                Sent::Refused if self.refusals.refused(clock::monotonic()) => return SendOutcome::Refused,
                Sent::Refused | Sent::Dropped => return SendOutcome::Dropped,
            }
        }
        self.refusals.sent();
        SendOutcome::Sent
    }
}

/// ICMP port-unreachable reports of a subscriber's host. One report is no proof: a subscriber may begin to read after
/// the first datagram came.
#[derive(Default)]
pub(super) struct Refusals {
    count: u32,
    /// Times of the first and the last report of the row.
    since: Instant,
    last: Instant,
    /// Messages sent after the last report.
    sent: u32,
}

impl Refusals {
    /// Counts a sent message.
    fn sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// Counts a refusal. True if the subscriber counts as gone.
    pub(super) fn refused(&mut self, now: Instant) -> bool {
        let is_separate = self.sent >= UNREFUSED && now.since(self.last) >= UNREFUSED_FOR;
        if is_separate || self.count == 0 {
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
    fn repeated_refusals_over_time_remove_subscriber() {
        assert_eq!(
            refused_at(&mut Refusals::default(), &[5, 6, 7, 1004, 1005]),
            [false, false, false, false, true]
        );
        assert_eq!(refused_at(&mut Refusals::default(), &[0, 60_000, 120_000]), [false, false, true]);
    }

    #[test]
    fn refusals_with_messages_and_time_between_are_separate() {
        for (messages, pause, gone) in [(10, 10_000, false), (9, 10_000, true), (1000, 9_999, true)] {
            let mut refusals = Refusals::default();
            refused_at(&mut refusals, &[0, 1000]);
            (0..messages).for_each(|_| refusals.sent());
            assert_eq!(refusals.refused(at(1000 + pause)), gone, "{messages} messages in {pause} ms");
        }
    }
}
