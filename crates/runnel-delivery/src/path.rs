//! Paths that carry messages, and the guarantees of each kind.

/// Id of one path of a pair, chosen by the process that uses it. The two ends choose ids independently.
///
/// An id is used once: a path that went down and comes up again gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

/// Transport of a path. The order is the rank: the first is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathKind {
    /// A reference handed over within one process.
    InProcess,
    /// A channel of shared memory between two processes of one host.
    SharedMemory,
    /// A reliable RTPS writer and reader.
    RtpsReliable,
    /// An RTPS writer and reader, at least one of them best effort.
    RtpsBestEffort,
    /// A TCPROS connection.
    Tcpros,
    /// UDPROS datagrams.
    Udpros,
    /// A connection through the host that a publisher or a subscription has left.
    Relay,
}

/// Order of the messages of a path, and whether it loses any while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// First in, first out, nothing lost.
    Fifo,
    /// Unordered; lost messages are sent again until they are acknowledged.
    Resent,
    /// Loses messages. Late ones are discarded.
    Lossy,
}

/// Source of the message numbers on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbering {
    /// The message carries its number.
    Explicit,
    /// Both ends count from the last statement ([`LinkNumbering`](crate::LinkNumbering)).
    Counted,
    /// No numbers: only the order of arrival is known.
    Absent,
}

/// Guarantees of a kind of path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathTraits {
    /// Order and loss while the path lives.
    pub order: Order,
    /// Source of the message numbers.
    pub numbering: Numbering,
    /// The path returns the messages that the peer has not received when it goes down.
    pub returns_unreceived: bool,
}

/// One path of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Id at this end.
    pub id: PathId,
    /// Transport.
    pub kind: PathKind,
    /// The peer understands statements. False for other implementations of ROS, for older releases, and for UDPROS.
    pub has_statements: bool,
    /// [`Close`](crate::SendAction::Close) is due when the pair has left this path for another. False for a path that
    /// stays open on standby.
    pub closes_when_left: bool,
}

impl Path {
    /// A path between two ends that understand statements, which stays open when the pair leaves it.
    pub fn new(id: PathId, kind: PathKind) -> Self {
        let has_statements = kind != PathKind::Udpros;
        Self { id, kind, has_statements, closes_when_left: false }
    }

    /// A path to a peer that understands no statements.
    pub fn plain(id: PathId, kind: PathKind) -> Self {
        Self { has_statements: false, ..Self::new(id, kind) }
    }

    /// The same path, closed when the pair leaves it.
    pub fn closing(self) -> Self {
        Self { closes_when_left: true, ..self }
    }

    /// Returns the guarantees of this path.
    pub fn traits(&self) -> PathTraits {
        let order = match self.kind {
            PathKind::RtpsReliable => Order::Resent,
            PathKind::RtpsBestEffort | PathKind::Udpros => Order::Lossy,
            PathKind::InProcess | PathKind::SharedMemory | PathKind::Tcpros | PathKind::Relay => Order::Fifo,
        };
        let numbering = match self.kind {
            PathKind::Udpros => Numbering::Absent,
            PathKind::Tcpros if self.has_statements => Numbering::Counted,
            PathKind::Tcpros => Numbering::Absent,
            _ => Numbering::Explicit,
        };
        let returns_unreceived =
            matches!(self.kind, PathKind::SharedMemory | PathKind::RtpsReliable | PathKind::Relay);
        PathTraits { order, numbering, returns_unreceived }
    }

    /// Returns whether messages on this path have numbers.
    pub fn is_numbered(&self) -> bool {
        self.traits().numbering != Numbering::Absent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_rank_from_memory_to_datagrams() {
        assert!(PathKind::InProcess < PathKind::SharedMemory);
        assert!(PathKind::SharedMemory < PathKind::RtpsReliable);
        assert!(PathKind::RtpsReliable < PathKind::Tcpros);
        assert!(PathKind::Tcpros < PathKind::Udpros);
        assert!(PathKind::Udpros < PathKind::Relay);
    }

    #[test]
    fn tcpros_is_numbered_only_between_ends_with_statements() {
        assert!(Path::new(PathId(1), PathKind::Tcpros).is_numbered());
        assert!(!Path::plain(PathId(1), PathKind::Tcpros).is_numbered());
        assert!(!Path::new(PathId(1), PathKind::Udpros).is_numbered());
        assert!(Path::plain(PathId(1), PathKind::RtpsReliable).is_numbered());
    }
}
