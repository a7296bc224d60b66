//! Receiving side of an IPC connection: the peer's records and packets, which the driver reads.

use std::os::fd::AsFd;
use std::sync::Arc;

use runnel_core::wire::Bytes;
use runnel_delivery::Statement;
use runnel_io::memory::is_memfd;
use runnel_io::unix::{Packets, Received, SameUser};

use super::borrowed_slot::{BorrowedSlot, MappedSegments, NotMapped, SlotReleaser};
use super::fault::IpcFault;
use super::flow_control::{AnsweredRequests, Teardown};
use super::outbox::{Inbox, Outbox, RING};
use super::record::{self, Lending, STATEMENT_WORDS, SegmentAnnouncement, kind};
use super::ring::{Record, RingReader};
use crate::log_output::console;

/// Words after which the position is reported to the peer, at the latest.
const REPORT_INTERVAL: u64 = RING as u64 / 4;

/// See the module's documentation.
pub(crate) struct Receiver {
    inbox: Arc<Inbox>,
    outbox: Arc<Outbox>,
    packets: Arc<Packets>,
    ring: RingReader,
    segments: MappedSegments,
    releaser: Arc<SlotReleaser>,
    /// The peer belongs to another user, so borrowed messages are copied before they are used.
    copies: bool,
    /// The last reported position.
    reported: u64,
    /// How often the peer had requested a notification of free space when it was last answered.
    answered: AnsweredRequests,
}

/// A decoded record.
pub(crate) enum RecordEvent {
    /// Data for the channel's content.
    ChannelData(ChannelData),
    Ask {
        token: u128,
    },
    Open {
        token: u128,
        before: u64,
    },
    /// For a ROS 1 link or a pair.
    OpenSamples {
        token: u128,
        first_unacknowledged: u64,
        begin: Statement,
    },
    /// Request for the samples of a ROS 2 pair. `waits_for_user` says whether the writer waits for the reader's user.
    AskSamples {
        token: u128,
        waits_for_user: bool,
    },
    /// The position of the subscriber of a pair.
    Reached {
        token: u128,
        reached: Statement,
    },
    Close,
    Nothing,
}

/// Data of a channel.
pub(crate) enum ChannelData {
    /// More bytes of a stream, or of a sample sent in pieces.
    Stream(Vec<u8>),
    /// A skip within a pair, or a statement about the subscriptions that share a link.
    Skip(Statement),
    /// A complete sample.
    Sample { number: u64, data: SampleData },
    /// The first bytes of a sample of `len` bytes.
    SampleBegin { number: u64, len: u64, bytes: Vec<u8> },
}

/// A complete sample.
pub(crate) enum SampleData {
    /// In the peer's memory.
    Borrowed(BorrowedSlot),
    Own(Vec<u8>),
}

impl SampleData {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> Bytes<'_> {
        match self {
            Self::Borrowed(lent) => lent.bytes(),
            Self::Own(bytes) => bytes.into(),
        }
    }

    /// Its bytes in this process's own memory.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Borrowed(lent) => lent.bytes().to_vec(),
            Self::Own(bytes) => bytes,
        }
    }

    /// The sample in this process's own memory.
    pub(crate) fn into_own(self) -> Self {
        match self {
            Self::Borrowed(lent) => Self::Own(lent.bytes().to_vec()),
            own => own,
        }
    }
}

impl Receiver {
    pub(crate) fn new(
        outbox: Arc<Outbox>,
        inbox: Arc<Inbox>,
        packets: Arc<Packets>,
        trusted: Option<SameUser>,
    ) -> Self {
        let releaser = SlotReleaser::new(Arc::clone(&outbox));
        let (ring, segments, copies) = (RingReader::new(RING), MappedSegments::default(), trusted.is_none());
        Self {
            inbox,
            outbox,
            packets,
            ring,
            segments,
            releaser,
            copies,
            reported: 0,
            answered: AnsweredRequests::default(),
        }
    }

    /// The next record. The caller calls [`Receiver::pass`] once it is handled.
    #[inline]
    pub(crate) fn peek(&self) -> Result<Option<Record>, IpcFault> {
        self.ring.peek(&self.inbox.ring()).map_err(IpcFault::Record)
    }

    /// Words of the peer's ring that are handled.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.ring.position()
    }

    /// True if there is a record.
    #[inline]
    pub(crate) fn has_record(&self) -> bool {
        !matches!(self.peek(), Ok(None))
    }

    /// Copies the payload of a record into a buffer.
    #[inline]
    pub(crate) fn copy(&self, record: &Record, into: &mut Vec<u8>) {
        into.clear();
        self.ring.copy(&self.inbox.ring(), record, into);
    }

    /// The bytes of each unhandled record that continues a stream or a sample, with its channel. The records stay
    /// unhandled.
    pub(crate) fn continuations(&self) -> impl Iterator<Item = (u32, Vec<u8>)> {
        let begun = self.ring.position();
        let mut ahead = RingReader::starting_at(RING, begun);
        let records = std::iter::from_fn(move || {
            let ring = self.inbox.ring();
            // A peer that violates the protocol can have any number of records.
            let record = ahead.peek(&ring).ok()?.filter(|_| ahead.position() - begun < RING as u64)?;
            let mut bytes = Vec::new();
            if record.is_continuation() {
                ahead.copy(&ring, &record, &mut bytes);
            }
            ahead.advance(&record);
            Some((record, bytes))
        });
        let continuations = records.filter(|(record, _)| record.is_continuation());
        continuations.map(|(record, bytes)| (record.channel, bytes))
    }

    /// Decodes a record.
    pub(crate) fn decode(&mut self, record: &Record) -> Result<RecordEvent, IpcFault> {
        Ok(match record.kind {
            kind::BYTES => RecordEvent::ChannelData(ChannelData::Stream(self.copied(record))),
            kind::SAMPLE => {
                let (number, mut bytes) = (self.number(record)?, Vec::new());
                self.copy_sample(record, &mut bytes);
                RecordEvent::ChannelData(ChannelData::Sample { number, data: SampleData::Own(bytes) })
            }
            kind::SAMPLE_BEGIN => {
                let (number, len, mut bytes) = (self.number(record)?, self.sample_len(record)?, Vec::new());
                self.ring.copy_from(&self.inbox.ring(), record, 2, &mut bytes);
                RecordEvent::ChannelData(ChannelData::SampleBegin { number, len, bytes })
            }
            kind::SAMPLE_SLOT => {
                let [number, first, second] = self.words(record)?;
                let data = self.borrowed_data([first, second])?;
                RecordEvent::ChannelData(ChannelData::Sample { number, data })
            }
            kind::ASK_SAMPLES => {
                let [low, high, waits] = self.words(record)?;
                RecordEvent::AskSamples { token: record::token([low, high]), waits_for_user: waits != 0 }
            }
            kind::REACHED => {
                let [low, high, rest @ ..] = self.words::<{ 2 + STATEMENT_WORDS }>(record)?;
                RecordEvent::Reached { token: record::token([low, high]), reached: statement(rest)? }
            }
            kind::SKIP => RecordEvent::ChannelData(ChannelData::Skip(statement(self.words(record)?)?)),
            kind::OPEN_SAMPLES => {
                let [low, high, first_unacknowledged, rest @ ..] =
                    self.words::<{ 3 + STATEMENT_WORDS }>(record)?;
                let token = record::token([low, high]);
                RecordEvent::OpenSamples { token, first_unacknowledged, begin: statement(rest)? }
            }
            kind::ASK => RecordEvent::Ask { token: record::token(self.words(record)?) },
            kind::OPEN => {
                let [low, high, before] = self.words(record)?;
                RecordEvent::Open { token: record::token([low, high]), before }
            }
            kind::CLOSE => RecordEvent::Close,
            kind::FORGET => {
                let [segment] = self.words(record)?;
                self.segments.forget(segment);
                RecordEvent::Nothing
            }
            unknown => return Err(IpcFault::UnknownKind(unknown)),
        })
    }

    /// A complete message in a slot that the peer lends.
    fn borrowed_data(&mut self, words: [u64; 2]) -> Result<SampleData, IpcFault> {
        let lent = self.borrow(Lending::from_words(words))?;
        if !self.copies {
            return Ok(SampleData::Borrowed(lent));
        }
        let copied = lent.bytes().try_to_vec();
        copied.map(SampleData::Own).map_err(|refused| IpcFault::NoMemory { len: refused.bytes })
    }

    /// The number of a sample.
    #[inline]
    pub(crate) fn number(&self, record: &Record) -> Result<u64, IpcFault> {
        let first = self.ring.first_words(&self.inbox.ring(), record);
        first.map(|[number]| number).ok_or(IpcFault::SampleWithoutNumber { len: record.len })
    }

    /// The length of a sample that begins.
    fn sample_len(&self, record: &Record) -> Result<u64, IpcFault> {
        let first = self.ring.first_words(&self.inbox.ring(), record);
        let fault = IpcFault::RecordLength { kind: record.kind, len: record.len };
        first.map(|[_, len]| len).ok_or(fault)
    }

    /// Copies the sample in a record into a buffer, without its number.
    #[inline]
    pub(crate) fn copy_sample(&self, record: &Record, into: &mut Vec<u8>) {
        into.clear();
        self.ring.copy_from(&self.inbox.ring(), record, 1, into);
    }

    fn copied(&self, record: &Record) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.copy(record, &mut bytes);
        bytes
    }

    fn words<const N: usize>(&self, record: &Record) -> Result<[u64; N], IpcFault> {
        let words = self.ring.words(&self.inbox.ring(), record);
        words.ok_or(IpcFault::RecordLength { kind: record.kind, len: record.len })
    }

    /// The peer may only lend from a segment that has been mapped, so an unmapped segment is its fault.
    fn borrow(&mut self, lending: Lending) -> Result<BorrowedSlot, IpcFault> {
        self.segments.borrow(lending, &self.releaser)
    }

    /// Whether borrowed messages are copied, which takes time.
    pub(crate) fn copies(&self) -> bool {
        self.copies
    }

    /// Marks a record as handled.
    #[inline]
    pub(crate) fn pass(&mut self, record: &Record) {
        self.ring.advance(record);
        if self.ring.position() - self.reported >= REPORT_INTERVAL {
            self.reported = self.ring.position();
            self.outbox.report_position(&self.ring, &self.inbox);
        }
    }

    /// Reports the position to the peer. True if the peer waits for free space.
    pub(crate) fn report_position(&mut self) -> bool {
        self.reported = self.ring.position();
        let requested = self.outbox.report_position(&self.ring, &self.inbox);
        self.answered.should_ring(requested)
    }

    /// Reports the position to the peer as the last one.
    pub(crate) fn report_final_position(&mut self) {
        self.report_position();
        self.outbox.announce_teardown(Teardown::Read);
    }

    /// Announces to the peer that the network also carries everything that it reads from now on.
    pub(crate) fn announce_on_network(&self) {
        self.outbox.announce_teardown(Teardown::OnNetwork);
    }

    /// True if the peer has read its last record.
    pub(crate) fn peer_has_read(&self) -> bool {
        self.inbox.has_reached(Teardown::Read)
    }

    /// True if the network also carries what the peer has in its ring.
    #[inline]
    pub(crate) fn is_peer_on_network(&self) -> bool {
        self.inbox.has_reached(Teardown::OnNetwork)
    }

    /// Reads one packet of the peer. True if it announced a segment, from which records may lend now. A faulty packet
    /// stays in the socket, since closing its descriptors could block. An error is the end of the IPC connection:
    /// `None` if the peer closed it.
    pub(crate) fn packet(&mut self) -> Result<bool, Option<IpcFault>> {
        let mut buffer = [0; SegmentAnnouncement::LEN];
        match self.packets.peek(&mut buffer) {
            Ok(Received::Nothing) => Ok(false),
            Ok(Received::End) => Err(None),
            Ok(Received::Packet { truncated: true, .. }) => Err(Some(IpcFault::PacketTruncated)),
            Ok(Received::Packet { len, fds, .. }) => {
                self.announcement(&buffer[..len], fds).map_err(Some)?;
                self.packets.discard();
                Ok(true)
            }
            Err(error) => Err(Some(IpcFault::Socket(error))),
        }
    }

    fn announcement(&mut self, packet: &[u8], mut fds: Vec<std::os::fd::OwnedFd>) -> Result<(), IpcFault> {
        let (Some(announcement), Some(fd), true) =
            (SegmentAnnouncement::from_bytes(packet), fds.pop(), fds.is_empty())
        else {
            return Err(IpcFault::UnknownPacket);
        };
        if !is_memfd(fd.as_fd()) {
            return Err(IpcFault::SegmentNoMemory);
        }
        match self.segments.map(announcement, fd) {
            Ok(Some(count)) => self.outbox.announce_mapped(count),
            Ok(None) => {}
            Err(NotMapped::Full(why)) => self.map_no_more(&why),
            Err(NotMapped::Misbehaved(fault)) => return Err(fault),
        }
        Ok(())
    }

    /// Makes the peer copy the messages of all further segments.
    fn map_no_more(&mut self, why: &str) {
        if self.segments.map_no_more() {
            console::warning!("memory of another process is not mapped, its messages are copied: {why}");
            self.outbox.announce_full();
        }
    }
}

fn statement(words: [u64; STATEMENT_WORDS]) -> Result<Statement, IpcFault> {
    record::statement(words).map_err(IpcFault::Statement)
}
