//! What a participant has to tell and to send.

use crate::fault::PeerFault;
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Range;
use runnel_core::qos::Policy;

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A participant has named us, as any receiver of our announcements can. It may have yet to prove its address, see
    /// [`Peer::is_proved`](crate::Peer::is_proved).
    ParticipantFound(GuidPrefix),
    /// Participants found no place: there are as many as are taken in, or as many at that address. Told at most every ten
    /// seconds.
    ParticipantsRefused {
        /// Where the last of them is reached.
        address: SocketAddr,
        /// How many were refused since this was told before. One that is refused again counts again.
        count: u64,
    },
    /// A participant is gone: it said so, or was not heard for its lease.
    ParticipantLost(GuidPrefix),
    /// An endpoint of a participant has been found, or has changed.
    EndpointFound(Guid),
    /// An endpoint is gone.
    EndpointLost(Guid),
    /// An endpoint of ours and one of a participant have met.
    Matched {
        /// Ours.
        local: EntityId,
        /// The other.
        remote: Guid,
    },
    /// They have parted.
    Unmatched {
        /// Ours.
        local: EntityId,
        /// The other.
        remote: Guid,
    },
    /// An endpoint of ours and one of a participant cannot meet.
    Incompatible {
        /// Ours.
        local: EntityId,
        /// The other.
        remote: Guid,
        /// Why.
        policies: Vec<Policy>,
    },
    /// Samples of a writer did not come, and will not.
    SampleLost {
        /// Ours.
        reader: EntityId,
        /// Whose samples.
        writer: Guid,
        /// How many.
        count: u64,
    },
    /// No sample within the deadline that a writer of ours has offered, or a reader of ours has asked for.
    DeadlineMissed {
        /// Ours.
        local: EntityId,
    },
    /// A writer that a reader of ours has met is not alive any more, or again.
    LivelinessChanged {
        /// Ours.
        reader: EntityId,
        /// Whose life it is.
        writer: Guid,
        /// True if it lives.
        alive: bool,
    },
    /// A writer of ours did not say that it lives within the lease that it offered.
    LivelinessLost {
        /// Ours.
        writer: EntityId,
    },
    /// A participant of our vendor has told us alone something, see [`Participant::tell_peer`](crate::Participant::tell_peer).
    Told {
        /// Who.
        participant: GuidPrefix,
        /// What, filled up with zeros to a multiple of four bytes.
        bytes: Vec<u8>,
    },
    /// State that a datagram had led to was contradicted by later ones, and has given way: a datagram was forged, or a peer has
    /// begun anew under the name that it had.
    Corrected {
        /// Ours, or the participant if it concerns no endpoint alone.
        local: EntityId,
        /// The other.
        remote: Guid,
        /// What was corrected.
        state: Correction,
    },
    /// A peer said something that is refused, or that is not so.
    Trouble(PeerFault),
}

/// State of another that was corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// How far a writer is, by its counts, numbers and fragments.
    WriterPosition,
    /// What a reader has acknowledged, or how it counts.
    ReaderPosition,
    /// That an endpoint is gone.
    Endpoint,
    /// That a participant is gone.
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
    /// True if nobody goes by it: who has been found is to be told to be lost, whatever else there is to tell.
    pub(crate) fn may_be_dropped(&self) -> bool {
        matches!(
            self,
            Self::Incompatible { .. }
                | Self::ParticipantsRefused { .. }
                | Self::SampleLost { .. }
                | Self::DeadlineMissed { .. }
                | Self::Told { .. }
                | Self::Corrected { .. }
                | Self::Trouble(_)
        )
    }
}

/// A sample for a reader of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Ours.
    pub reader: EntityId,
    /// Whose it is.
    pub writer: Guid,
    /// Its number.
    pub number: SequenceNumber,
    /// When it was written, by the writer's clock.
    pub stamp: Option<Timestamp>,
    /// The payload, encapsulation header first.
    pub payload: SamplePayload,
}

/// Where a sample's payload is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SamplePayload {
    /// In the datagram that was handled last.
    Here(Range<usize>),
    /// In memory of its own.
    Own(Vec<u8>),
}

impl SamplePayload {
    /// The bytes, given the datagram that was handled last.
    pub fn bytes<'a>(&'a self, datagram: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Here(place) => datagram.get(place.clone()).unwrap_or(&[]),
            Self::Own(bytes) => bytes,
        }
    }
}

/// A datagram to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Transmit<'a> {
    /// Where it goes, to each of these: a participant's address, or a group's, which goes out on every interface.
    pub to: &'a [SocketAddr],
    /// The bytes, in three parts that follow each other.
    pub parts: [&'a [u8]; 3],
}
