//! Times and limits of links.

use std::time::Duration;

/// Times and limits of a link, or of all links of a listener. Both hosts should have the same.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// How long a link that sends nothing else waits until it sends a keep-alive.
    pub keep_alive: Duration,
    /// How long a peer may send nothing until the link is ended: several times `keep_alive`.
    pub silence: Duration,
    /// Bytes that a frame may have.
    pub longest_frame: usize,
    /// Bytes of frames that may wait to be sent, and as many that may wait to be received. A single frame may be longer.
    pub queue: usize,
    /// How long [`Link::send`](super::Link::send) waits for space in the queue.
    pub send_timeout: Duration,
    /// How long a link that is dropped may take to send what waits.
    pub linger: Duration,
    /// How long a host that connects may take for its handshake with a listener.
    pub handshake_timeout: Duration,
    /// Handshakes that a listener has in progress. A further one ends the oldest.
    pub most_handshakes: usize,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            keep_alive: Duration::from_secs(1),
            silence: Duration::from_secs(5),
            longest_frame: 16 << 20,
            queue: 32 << 20,
            send_timeout: Duration::from_secs(10),
            linger: Duration::from_secs(5),
            handshake_timeout: Duration::from_secs(10),
            most_handshakes: 64,
        }
    }
}
