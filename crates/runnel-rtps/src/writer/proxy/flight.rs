//! How much is under way to a reader.

/// How many bytes go to a reader before it must have acknowledged some, with what the kernel counts for each datagram.
/// A socket whose room nobody has set takes some 200 KiB.
const WINDOW: u64 = 128 * 1024;

/// What the kernel counts for a datagram beside its bytes.
const DATAGRAM_COST: u64 = 1024;

/// What is under way to a reader, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flight {
    sent: u64,
    /// Of which so much has arrived or is lost.
    known: u64,
    /// How much had been sent when the reader was last asked for an acknowledgement.
    probe: Option<u64>,
}

impl Flight {
    /// A datagram of so many bytes sets out.
    pub fn send(&mut self, len: usize) {
        self.sent += len as u64 + DATAGRAM_COST;
    }

    /// The reader is asked for an acknowledgement.
    pub fn ask(&mut self) {
        self.probe = Some(self.sent);
    }

    /// The reader has answered: what had been sent when it was asked is under way no more.
    pub fn answered(&mut self) {
        if let Some(probe) = self.probe.take() {
            self.known = self.known.max(probe);
        }
    }

    /// Nothing more is to set out before the reader has answered.
    pub fn is_full(&self) -> bool {
        self.sent - self.known >= WINDOW
    }

    /// It is time to ask for an acknowledgement, so that it comes before the window is full.
    pub fn wants_probe(&self) -> bool {
        self.sent - self.probe.unwrap_or(self.known) >= WINDOW / 2
    }
}
