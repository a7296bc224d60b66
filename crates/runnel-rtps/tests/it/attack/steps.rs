//! Input of the stateful fuzzer: bytes that encode the steps of an attack.

use std::fmt;

/// Bytes of one step.
pub const STEP_LEN: usize = 6;

/// Maximum number of steps of one input; longer inputs are cut.
pub const MAX_STEPS: usize = 60;

/// One step: an event of the network or a datagram of the attacker. The numbers select among the available ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Virtual time passes, in milliseconds.
    Advance { millis: u64 },
    /// The link's writer writes samples.
    Publish { link: usize, count: usize },
    /// Loss, duplication and delay begin or end.
    Conditions { kind: usize },
    /// Nothing arrives for a while.
    Blackout { millis: u64 },
    /// The attacker sends a datagram.
    Attack { attack: Attack, args: [u8; 4] },
}

/// Kind of the attacker's datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attack {
    /// A captured datagram as it was.
    Replay,
    /// A captured control submessage with another count.
    AlterCount,
    /// A captured control submessage with another sequence number or fragment number.
    AlterNumber,
    /// A captured submessage from or to another endpoint or participant.
    AlterIdentity,
    /// A captured user sample with another sequence number, length or content.
    AlterSample,
    /// A captured announcement of a participant or endpoint with another word in it.
    AlterAnnouncement,
    /// A HEARTBEAT of a live writer.
    Heartbeat,
    /// A GAP of a live writer.
    Gap,
    /// An ACKNACK of a live reader.
    AckNack,
    /// A NACK_FRAG of a live reader.
    NackFrag,
    /// The end of a live endpoint.
    DisposeEndpoint,
    /// The end of a live participant.
    DisposeParticipant,
    /// Announcements of participants that do not exist.
    Invent,
}

impl Attack {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Replay,
        Self::AlterCount,
        Self::AlterNumber,
        Self::AlterIdentity,
        Self::AlterSample,
        Self::AlterAnnouncement,
        Self::Heartbeat,
        Self::Gap,
        Self::AckNack,
        Self::NackFrag,
        Self::DisposeEndpoint,
        Self::DisposeParticipant,
        Self::Invent,
    ];
}

const PAUSES: [u64; 8] = [1, 2, 5, 20, 50, 150, 500, 2000];

impl Step {
    fn parse([kind, args @ ..]: [u8; STEP_LEN]) -> Self {
        let [first, second, third, fourth, _] = args;
        let attack = |attack| Self::Attack { attack, args: [args[1], args[2], args[3], args[4]] };
        match kind % 8 {
            0 => Self::Advance { millis: PAUSES[usize::from(first) % PAUSES.len()] },
            1 => Self::Publish { link: first.into(), count: 1 + usize::from(second) % 8 },
            2 if first % 2 == 0 => Self::Conditions { kind: second.into() },
            2 => Self::Blackout { millis: u64::from(third) * 4 + u64::from(fourth) },
            _ => attack(Attack::ALL[usize::from(first) % Attack::ALL.len()]),
        }
    }
}

/// Decodes the steps of an input.
pub fn steps(input: &[u8]) -> Vec<Step> {
    input.as_chunks().0.iter().take(MAX_STEPS).map(|bytes| Step::parse(*bytes)).collect()
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
