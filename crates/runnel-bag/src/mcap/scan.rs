//! Index made from the records of the whole file.

use std::io::{Read, Seek};

use super::MAGIC;
use super::attachment::AttachmentInfo;
use super::channel::{ChannelRecord, SchemaRecord};
use super::chunk::{ChunkHead, ChunkMessage, Definition, LONGEST_CHUNK};
use super::head::Head;
use super::index::Index;
use super::records::{Fields, MESSAGE_HEAD, op};
use crate::chunks::Source;
use crate::{ChunkInfo, ChunkTotals, Error};

/// Length at which a run of messages outside of chunks ends, in bytes.
const RUN: u64 = 1 << 20;

/// Makes the index; zeros at the end are padding. Also returns the first damage. Damaged chunks are skipped; after
/// other damage nothing is read.
pub(super) fn file<R: Read + Seek>(source: &mut Source<R>) -> Result<(Index, Option<Error>), Error> {
    let mut scan = Scan { source, index: Index::default(), run: None, damage: None };
    match scan.records(MAGIC.len() as u64) {
        Err(Error::Io(error)) => return Err(Error::Io(error)),
        Err(damage) => scan.damage = scan.damage.or(Some(damage)),
        Ok(()) => {}
    }
    scan.end_run();
    Ok((scan.index, scan.damage))
}

struct Scan<'a, R> {
    source: &'a mut Source<R>,
    index: Index,
    /// The run of messages outside of chunks that ends where the scan is.
    run: Option<Run>,
    damage: Option<Error>,
}

struct Run {
    info: ChunkInfo,
    len: u64,
}

impl<R: Read + Seek> Scan<'_, R> {
    fn records(&mut self, mut at: u64) -> Result<(), Error> {
        while at < self.source.len() {
            let head = match Head::read(self.source, at) {
                Err(Error::Truncated { .. }) if self.source.is_zero_from(at)? => return Ok(()),
                head => head?,
            };
            match head.op {
                op::DATA_END | op::FOOTER => return Ok(()),
                0 if self.source.is_zero_from(at)? => return Ok(()),
                0 => return Err(head.malformed("the record has no kind")),
                op::CHUNK => self.chunk(&head)?,
                _ if head.end() > self.source.len() => return Err(Error::Truncated { at }),
                op::MESSAGE => self.message(&head)?,
                _ => self.other(&head)?,
            }
            at = head.end();
        }
        Ok(())
    }

    fn other(&mut self, head: &Head) -> Result<(), Error> {
        self.end_run();
        let malformed = || head.malformed("the record is malformed");
        match head.op {
            op::HEADER => {
                self.index.profile =
                    Fields::new(&head.read_content(self.source)?).text().ok_or_else(malformed)?;
            }
            op::SCHEMA => {
                let (id, schema) =
                    SchemaRecord::parse(&head.read_content(self.source)?).ok_or_else(malformed)?;
                self.index.add_schema(id, schema);
            }
            op::CHANNEL => {
                let channel = ChannelRecord::parse(&head.read_content(self.source)?).ok_or_else(malformed)?;
                self.index.add_channel(channel);
            }
            op::ATTACHMENT => {
                let info = AttachmentInfo::read(self.source, head)?;
                self.index.attachments.push(info);
            }
            op::METADATA => self.index.metadata.push(head.at),
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, head: &Head) -> Result<(), Error> {
        if head.len > LONGEST_CHUNK {
            self.end_run();
            self.damage = self.damage.take().or(Some(head.malformed("the message is longer than 4 GiB")));
            return Ok(());
        }
        let start = head.read_start(self.source, MESSAGE_HEAD as u64)?;
        let message = ChunkMessage::parse(&start, MESSAGE_HEAD)
            .ok_or_else(|| head.malformed("the message has no head"))?;
        let channel = match self.index.bag.id(head.at, message.channel.into()) {
            Ok(channel) => channel,
            Err(error) => {
                self.end_run();
                self.damage = self.damage.take().or(Some(error));
                return Ok(());
            }
        };
        self.index.bag.count(channel, 1);
        self.index.extend_time_range([message.log_time; 2]);
        let run = self.run.get_or_insert_with(|| Run::new(head.at, message.log_time));
        run.info.start = run.info.start.min(message.log_time);
        run.info.end = run.info.end.max(message.log_time);
        run.len = head.end() - run.info.position;
        if run.len >= RUN {
            self.end_run();
        }
        Ok(())
    }

    fn end_run(&mut self) {
        if let Some(Run { info, len }) = self.run.take() {
            self.index.runs.insert(info.position, len);
            self.index.bag.chunks.push(info);
        }
    }

    /// Adds what is whole in a chunk.
    fn chunk(&mut self, head: &Head) -> Result<(), Error> {
        self.end_run();
        let chunk = ChunkHead::read(self.source, head)?;
        match self.load_chunk(head, &chunk) {
            Err(Error::Io(error)) => Err(Error::Io(error)),
            Err(error) => {
                // The iteration over the messages reports it too.
                let [start, end] = chunk.time_range;
                let info = ChunkInfo { position: head.at, start, end, channels: None, is_damaged: false };
                self.index.bag.chunks.push(info);
                self.damage = self.damage.take().or(Some(error));
                Ok(())
            }
            Ok(damage) => {
                self.damage = self.damage.take().or(damage);
                Ok(())
            }
        }
    }

    /// Adds what is whole in a chunk; returns the damage.
    fn load_chunk(&mut self, head: &Head, chunk: &ChunkHead) -> Result<Option<Error>, Error> {
        let (mut contents, damage) = chunk.load(self.source, head)?;
        for definition in std::mem::take(&mut contents.definitions) {
            match definition {
                Definition::Schema(id, schema) => self.index.add_schema(id, schema),
                Definition::Channel(channel) => self.index.add_channel(channel),
            }
        }
        let loaded = self.index.loaded(head.at, contents)?;
        if let Some(compression) = chunk.compression {
            let len = loaded.data.len() as u64;
            ChunkTotals::add(&mut self.index.totals, compression, chunk.stored, len);
        }
        if let Some(times) = self.index.bag.add_loaded(head.at, &loaded, damage.is_some()) {
            self.index.extend_time_range(times);
        }
        Ok(damage)
    }
}

impl Run {
    fn new(position: u64, time: u64) -> Self {
        let info = ChunkInfo { position, start: time, end: time, channels: None, is_damaged: false };
        Self { info, len: 0 }
    }
}
