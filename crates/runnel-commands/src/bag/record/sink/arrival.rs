//! A received message as the recorder takes it.

use runnel::core::schema::Generation;
use runnel::core::wire::{Bytes, NoMemory};
use runnel::{Gid, RawMessage};

/// A message with its publisher's description of it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The publisher and its type.
    pub source: Source<'a>,
    /// The publisher's GID and the message's number there, where the wire has them.
    pub number: Option<(Gid, u64)>,
    /// When and what.
    pub content: Content<'a>,
}

/// What a publisher says about its messages. Messages with one source are in one channel.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The generation of the messages.
    pub generation: Generation,
    /// The type as its generation spells it.
    pub type_name: &'a str,
    /// MD5 sum in ROS 1, type hash in ROS 2; empty or `*` if it is unknown.
    pub sum: &'a str,
    /// The definition, which only ROS 1 publishers send.
    pub definition: &'a str,
    /// The publisher's node.
    pub publisher: &'a str,
    /// Whether late subscribers get the last message.
    pub is_latching: bool,
}

/// Times and bytes of a message.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// When it was received, in nanoseconds since 1970.
    pub log_time: u64,
    /// When it was published, in nanoseconds since 1970; the log time if that is unknown.
    pub publish_time: u64,
    /// Its number at the publisher; 0 if unknown.
    pub sequence: u32,
    /// The serialized message.
    pub data: Bytes<'a>,
}

/// An [`Arrival`] in memory of its own.
#[derive(Clone, Debug)]
pub struct OwnedArrival {
    generation: Generation,
    type_name: String,
    sum: String,
    definition: String,
    publisher: String,
    is_latching: bool,
    number: Option<(Gid, u64)>,
    content: OwnedContent,
}

/// A [`Content`] in memory of its own.
#[derive(Clone, Debug)]
pub struct OwnedContent {
    log_time: u64,
    publish_time: u64,
    sequence: u32,
    data: Vec<u8>,
}

impl<'a> Arrival<'a> {
    /// A message that was received at `log_time`, in nanoseconds since 1970.
    pub fn new(message: &RawMessage<'a>, log_time: u64) -> Self {
        let info = message.info();
        let number = info.publisher_gid().zip(info.publication_sequence_number());
        let published = info.source_timestamp().map(|time| time.as_nanos().max(0).unsigned_abs());
        let generation = message.generation();
        let sum = match generation {
            Generation::Ros1 => message.md5(),
            Generation::Ros2 => message.type_hash(),
        };
        Self {
            source: Source {
                generation,
                type_name: message.type_name(),
                sum,
                definition: message.definition(),
                publisher: message.publisher(),
                is_latching: message.latching(),
            },
            number,
            content: Content {
                log_time,
                publish_time: published.unwrap_or(log_time),
                // The field has 32 bits; later numbers begin again.
                sequence: number.map_or(0, |(_, number)| number as u32),
                data: message.bytes(),
            },
        }
    }
}

impl Arrival<'_> {
    /// The same in memory of its own.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn to_owned(self) -> Result<OwnedArrival, NoMemory> {
        let Source { generation, type_name, sum, definition, publisher, is_latching } = self.source;
        Ok(OwnedArrival {
            generation,
            type_name: type_name.to_owned(),
            sum: sum.to_owned(),
            definition: definition.to_owned(),
            publisher: publisher.to_owned(),
            is_latching,
            number: self.number,
            content: self.content.to_owned()?,
        })
    }

    /// Length of the message and its definition in bytes.
    pub fn len(&self) -> usize {
        self.content.data.len() + self.source.definition.len()
    }
}

impl OwnedArrival {
    /// The message.
    pub fn view(&self) -> Arrival<'_> {
        let source = Source {
            generation: self.generation,
            type_name: &self.type_name,
            sum: &self.sum,
            definition: &self.definition,
            publisher: &self.publisher,
            is_latching: self.is_latching,
        };
        Arrival { source, number: self.number, content: self.content.view() }
    }
}

impl Content<'_> {
    /// The same, received at another time.
    #[must_use]
    pub fn at(self, log_time: u64) -> Self {
        Self { log_time, ..self }
    }

    /// The same in memory of its own.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn to_owned(self) -> Result<OwnedContent, NoMemory> {
        let Self { log_time, publish_time, sequence, data } = self;
        Ok(OwnedContent { log_time, publish_time, sequence, data: data.try_to_vec()? })
    }
}

impl OwnedContent {
    /// The content.
    pub fn view(&self) -> Content<'_> {
        let Self { log_time, publish_time, sequence, data } = self;
        Content {
            log_time: *log_time,
            publish_time: *publish_time,
            sequence: *sequence,
            data: data.as_slice().into(),
        }
    }

    /// Length of the message in bytes.
    pub fn len(&self) -> usize {
        self.data.len()
    }
}
