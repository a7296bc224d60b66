//! Events, samples and datagrams that a participant returns.

use crate::fault::PeerFault;
use crate::wire::{EntityId, Guid, GuidPrefix, SampleIdentity, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Range;
use runnel_core::qos::Policy;

/// Event of a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A participant was discovered: it has named our GUID prefix, as any receiver of our announcements can. It may not
    /// have proved its address yet, see [`Peer::is_proved`](crate::Peer::is_proved).
    ParticipantFound(GuidPrefix),
    /// Participants were refused: the limit of participants, or of participants at that address, is reached. Reported
    /// at most every ten seconds.
    ParticipantsRefused {
        /// Address of the last of them.
        address: SocketAddr,
        /// Number of refusals since the last report. A repeated refusal counts again.
        count: u64,
    },
    /// A participant is gone: it said farewell, or its lease has expired.
    ParticipantLost(GuidPrefix),
    /// An endpoint of a participant was discovered or has changed.
    EndpointFound(Guid),
    /// An endpoint is gone.
    EndpointLost(Guid),
    /// A local endpoint and a remote one were matched.
    Matched {
        /// The local endpoint.
        local: EntityId,
        /// The remote endpoint.
        remote: Guid,
    },
    /// A local endpoint and a remote one were unmatched.
    Unmatched {
        /// The local endpoint.
        local: EntityId,
        /// The remote endpoint.
        remote: Guid,
    },
    /// A local endpoint and a remote one have incompatible QoS.
    Incompatible {
        /// The local endpoint.
        local: EntityId,
        /// The remote endpoint.
        remote: Guid,
        /// The incompatible policies.
        policies: Vec<Policy>,
    },
    /// Samples of a writer were lost.
    SampleLost {
        /// The local reader.
        reader: EntityId,
        /// The remote writer.
        writer: Guid,
        /// Number of lost samples.
        count: u64,
    },
    /// The deadline passed that a local writer has offered or a local reader has requested.
    DeadlineMissed {
        /// The local endpoint.
        local: EntityId,
    },
    /// A writer that a local reader has matched lost or regained its liveliness.
    LivelinessChanged {
        /// The local reader.
        reader: EntityId,
        /// The remote writer.
        writer: Guid,
        /// The writer is alive.
        alive: bool,
    },
    /// A local writer did not assert its liveliness within the offered lease.
    LivelinessLost {
        /// The local writer.
        writer: EntityId,
    },
    /// A Runnel participant has sent us a vendor message, see
    /// [`Participant::send_vendor_message`](crate::Participant::send_vendor_message).
    VendorMessage {
        /// The sender.
        participant: GuidPrefix,
        /// Content, padded with zeros to a multiple of four bytes.
        bytes: Vec<u8>,
    },
    /// State that a datagram had set was contradicted by later ones and replaced: a datagram was forged, or a peer has
    /// restarted with the same GUID.
    Corrected {
        /// The local endpoint, or the participant if no single endpoint is concerned.
        local: EntityId,
        /// The remote entity.
        remote: Guid,
        /// The corrected state.
        state: Correction,
    },
    /// A peer sent something invalid or untrue, which is refused.
    PeerFault(PeerFault),
}

/// Remote state that was corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// Position of a writer: its counts, sequence numbers and fragments.
    WriterPosition,
    /// Acknowledgements of a reader, or its counts.
    ReaderPosition,
    /// End of an endpoint.
    Endpoint,
    /// End of a participant.
    Participant,
}

impl core::fmt::Display for Correction {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::WriterPosition => "position of the writer",
            Self::ReaderPosition => "acknowledgements of the reader",
            Self::Endpoint => "end of the endpoint",
            Self::Participant => "end of the participant",
        })
    }
}

impl Event {
    /// Returns whether the event may be dropped without a lasting effect. The loss of a discovered participant must
    /// always be reported.
    pub(crate) fn can_be_dropped(&self) -> bool {
        matches!(
            self,
            Self::Incompatible { .. }
                | Self::ParticipantsRefused { .. }
                | Self::SampleLost { .. }
                | Self::DeadlineMissed { .. }
                | Self::VendorMessage { .. }
                | Self::Corrected { .. }
                | Self::PeerFault(_)
        )
    }
}

/// Sample for a local reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The local reader.
    pub reader: EntityId,
    /// The remote writer.
    pub writer: Guid,
    /// Sequence number.
    pub number: SequenceNumber,
    /// Source timestamp, by the writer's clock.
    pub stamp: Option<Timestamp>,
    /// The payload, encapsulation header first.
    pub payload: SamplePayload,
    /// The related sample identity in the inline QoS, if there is one.
    pub related: Option<SampleIdentity>,
}

/// Location of a sample's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SamplePayload {
    /// Range in the datagram that was handled last.
    InDatagram(Range<usize>),
    /// Memory of its own.
    Owned(Vec<u8>),
}

impl SamplePayload {
    /// Returns the bytes, given the datagram that was handled last.
    pub fn bytes<'a>(&'a self, datagram: &'a [u8]) -> &'a [u8] {
        match self {
            Self::InDatagram(place) => datagram.get(place.clone()).unwrap_or(&[]),
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Datagram to send.
#[derive(Clone, Copy, Debug)]
pub struct Transmit<'a> {
    /// Destinations: addresses of participants, or of groups, which go out on every interface.
    pub to: &'a [SocketAddr],
    /// The bytes, in three consecutive parts.
    pub parts: [&'a [u8]; 3],
}
