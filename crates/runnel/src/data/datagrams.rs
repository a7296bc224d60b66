//! The sending side of a link of UDPROS. There is no flow control: what the kernel does not take at once is dropped, with
//! the rest of its message.

use std::io::IoSlice;
use std::sync::Arc;

use runnel_io::{Datagrams, Sent, Token};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::LinkStats;
use runnel_ros1::udpros::Fragmenter;

/// A link to a subscriber.
pub(super) struct DatagramLink {
    pub(super) conn: ConnId,
    pub(super) token: Token,
    pub(super) socket: Arc<Datagrams>,
    pub(super) fragmenter: Fragmenter,
    pub(super) stats: Arc<LinkStats>,
    pub(super) topic: String,
    pub(super) subscriber: String,
    /// The subscriber is gone; the driver is about to learn of it.
    pub(super) refused: bool,
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
    /// The subscriber is gone.
    Refused,
}

impl DatagramLink {
    /// Sends a message that has its length before it.
    pub(super) fn offer(&mut self, frame: &[u8]) -> Offered {
        let datagrams = match self.fragmenter.cut(frame) {
            Ok(datagrams) => datagrams,
            Err(error) => {
                self.too_long += 1;
                let Self { topic, subscriber, too_long, .. } = self;
                // Each time twice as many have come, since a publisher may send nothing else.
                if !too_long.is_power_of_two() {
                    return Offered::Dropped;
                }
                return Offered::TooLong(format!(
                    "topic {topic}: message dropped for subscriber [{subscriber}] over UDPROS: {error} ({too_long} so far)"
                ));
            }
        };
        for (header, part) in datagrams {
            match self.socket.send_vectored(&[IoSlice::new(&header), IoSlice::new(part)]) {
                Sent::Taken => {}
                Sent::Dropped => return Offered::Dropped,
                Sent::Refused => return Offered::Refused,
            }
        }
        Offered::Sent
    }
}
