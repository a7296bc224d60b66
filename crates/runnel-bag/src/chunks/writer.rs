//! Writer of chunks.

use std::io;
use std::mem;

use crate::disk::{BlockWriter, Disk};
use crate::limits::{MOST_MESSAGES, longest_decompressed};
use crate::{Compressed, Compression, Compressor, Error, NewMessage};

use super::open_chunk::{OpenChunk, Record};
use super::{ChunkData, ChunkFormat, ChunkIndex, FinishedChunk};

/// Writes messages in chunks.
///
/// The bytes of a message are copied once: into the buffer of the disk, or into the memory of a chunk that is to be
/// compressed. A chunk in the buffer ends before the buffer is written, so that its head can be completed. A message
/// that is longer than the buffer gets a chunk of its own, whose head is known before. Chunks are written in their
/// order, since a later one may lack the definitions of an earlier one.
pub(crate) struct ChunkWriter<D: Disk, F> {
    out: BlockWriter<D>,
    format: F,
    compression: Compression,
    /// Length of the data at which a chunk ends, in bytes.
    chunk_len: u64,
    /// Definitions that precede the next message.
    definitions: Vec<u8>,
    open: Option<OpenChunk>,
    /// Data of the chunk that is to be compressed.
    memory: Vec<u8>,
    compressor: Compressor<(ChunkData, ChunkIndex)>,
    /// Memory for the head of a message.
    head: Vec<u8>,
    is_finished: bool,
}

impl<D: Disk, F: ChunkFormat> ChunkWriter<D, F> {
    pub(crate) fn new(out: BlockWriter<D>, format: F, chunk_len: u64) -> Self {
        Self {
            out,
            format,
            compression: Compression::None,
            chunk_len,
            definitions: Vec::new(),
            open: None,
            memory: Vec::new(),
            compressor: Compressor::default(),
            head: Vec::new(),
            is_finished: false,
        }
    }

    /// See [`BagWriter::set_compression`](crate::BagWriter::set_compression).
    pub(crate) fn set_compression(&mut self, compression: Compression) -> Result<(), Error> {
        if !F::has_compression(compression) {
            let name = compression.name().to_owned();
            return Err(Error::UnsupportedCompression { at: self.file_len(), name });
        }
        self.compression = compression;
        Ok(())
    }

    /// Compresses the chunks to come on this many threads of their own.
    #[cfg(feature = "files")]
    pub(crate) fn set_compression_threads(&mut self, threads: usize) -> Result<(), Error> {
        self.end_chunk()?;
        self.compressor = Compressor::with_threads(threads)?;
        Ok(())
    }

    /// Sets the length of the data at which the chunks to come end, in bytes.
    pub(crate) fn set_chunk_len(&mut self, len: u64) {
        self.chunk_len = len;
    }

    /// The output. Between chunks, records can be appended.
    pub(crate) fn out(&mut self) -> &mut BlockWriter<D> {
        &mut self.out
    }

    pub(crate) fn format(&self) -> &F {
        &self.format
    }

    /// The disk.
    pub(crate) fn into_disk(self) -> D {
        self.out.into_disk()
    }

    /// Length of the file with the messages that are not written yet, before compression.
    pub(crate) fn file_len(&self) -> u64 {
        let compressing: u64 = self.compressor.pending().map(|(data, _)| data.len).sum();
        self.out.position() + compressing + self.memory.len() as u64
    }

    /// Adds a record that must precede the next message.
    pub(crate) fn define(&mut self, record: &[u8]) {
        self.definitions.extend(record);
    }

    /// Whether records can be added.
    pub(crate) fn check_unfinished(&self) -> Result<(), Error> {
        if self.is_finished { Err(Error::Finished) } else { Ok(()) }
    }

    /// Whether this message of one of so many channels can be added.
    pub(crate) fn check(&self, message: &NewMessage<'_>, channels: usize) -> Result<(), Error> {
        self.check_unfinished()?;
        let (index, len) = (message.channel.index(), message.data.len());
        if index >= channels {
            return Err(Error::UnknownChannel { index });
        }
        let limit = F::LONGEST_MESSAGE;
        if len > limit { Err(Error::TooLong { len, limit }) } else { Ok(()) }
    }

    /// Adds a message.
    pub(crate) fn write(&mut self, message: &NewMessage<'_>) -> Result<(), Error> {
        let mut head = mem::take(&mut self.head);
        head.clear();
        head.append(&mut self.definitions);
        let offset = head.len() as u64;
        F::put_message_head(message, &mut head);
        let record = Record { head: &head, offset, message };
        if self.open.as_ref().is_some_and(|chunk| chunk.len + record.len() > F::LONGEST) {
            self.close_chunk()?;
        }
        match self.open.as_ref().map_or(self.compression, |chunk| chunk.compression) {
            Compression::None => self.write_to_buffer(&record)?,
            _ => self.write_to_memory(&record)?,
        }
        self.head = head;
        let is_full = self
            .open
            .as_ref()
            .is_some_and(|chunk| chunk.len >= self.chunk_len || chunk.messages == MOST_MESSAGES);
        if is_full { self.close_chunk() } else { Ok(()) }
    }

    /// Ends the chunk, and waits for those that are being compressed. Definitions without a message wait for one.
    pub(crate) fn end_chunk(&mut self) -> Result<(), Error> {
        self.close_chunk()?;
        self.write_pending()
    }

    /// Ends the chunk.
    fn close_chunk(&mut self) -> Result<(), Error> {
        let Some(OpenChunk { position, compression, len, index, .. }) = self.open.take() else {
            return Ok(());
        };
        let mut data =
            ChunkData { compression, time_range: index.time_range(), len, stored: len, checksum: 0 };
        let Some(position) = position else {
            data.checksum = checksum::<F>(compression, &self.memory);
            self.compressor.submit(compression, mem::take(&mut self.memory), (data, index))?;
            return self.write_ready();
        };
        let start = position + F::chunk_head(&data).len() as u64;
        data.checksum = checksum::<F>(compression, self.out.open_bytes(start));
        self.out.patch(position, &F::chunk_head(&data));
        self.finish_chunk(position, data, index)
    }

    /// Ends the last chunk; `false` if that has been done before.
    pub(crate) fn finish(&mut self) -> Result<bool, Error> {
        if self.is_finished {
            return Ok(false);
        }
        self.is_finished = true;
        self.end_chunk()?;
        Ok(true)
    }

    /// Ends the chunk, and waits until everything is safe from a power failure.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.end_chunk()?;
        Ok(self.out.sync()?)
    }

    /// Ends the chunk and gives everything to the disk.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.end_chunk()?;
        Ok(self.out.flush()?)
    }

    /// Writes the definitions without a message, outside of a chunk.
    pub(crate) fn write_definitions(&mut self) -> Result<(), Error> {
        Ok(self.out.append(&mem::take(&mut self.definitions))?)
    }

    fn write_to_buffer(&mut self, record: &Record<'_>) -> Result<(), Error> {
        if self.open.is_some() && self.out.available()? as u64 <= record.len() {
            self.close_chunk()?;
        }
        if self.open.is_none() {
            self.write_pending()?;
            let head = F::chunk_head(&ChunkData::default());
            let needed = head.len() as u64 + record.len();
            if self.out.available()? as u64 <= needed && needed < self.out.capacity()? as u64 {
                self.out.flush_whole_blocks()?;
            }
            if self.out.available()? as u64 <= needed {
                return self.write_alone(record);
            }
            self.open = Some(OpenChunk::new(Some(self.out.position()), Compression::None));
            self.out.append(&head)?;
        }
        record.append_to(&mut self.out)?;
        self.add_to_index(record);
        Ok(())
    }

    /// Writes a chunk of this message.
    fn write_alone(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let position = self.out.position();
        let mut chunk = OpenChunk::new(Some(position), Compression::None);
        chunk.add(record);
        let time_range = chunk.index.time_range();
        let (len, compression) = (record.len(), Compression::None);
        let data = ChunkData { compression, time_range, len, stored: len, checksum: record.checksum::<F>() };
        self.out.append(&F::chunk_head(&data))?;
        record.append_to(&mut self.out)?;
        self.finish_chunk(position, data, chunk.index)
    }

    fn write_to_memory(&mut self, record: &Record<'_>) -> Result<(), Error> {
        self.memory.extend(record.head);
        let no_memory = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        record.message.data.append_to(&mut self.memory).map_err(no_memory)?;
        let compression = self.compression;
        self.open.get_or_insert_with(|| OpenChunk::new(None, compression));
        self.add_to_index(record);
        Ok(())
    }

    fn add_to_index(&mut self, record: &Record<'_>) {
        if let Some(chunk) = &mut self.open {
            chunk.add(record);
        }
    }

    /// Writes the chunks that are compressed.
    fn write_ready(&mut self) -> Result<(), Error> {
        while let Some(chunk) = self.compressor.ready()? {
            self.write_compressed(chunk)?;
        }
        Ok(())
    }

    /// Writes all chunks that are being compressed.
    fn write_pending(&mut self) -> Result<(), Error> {
        while let Some(chunk) = self.compressor.wait()? {
            self.write_compressed(chunk)?;
        }
        Ok(())
    }

    /// Data that a reader would refuse to decompress are written as they are.
    fn write_compressed(&mut self, chunk: Compressed<(ChunkData, ChunkIndex)>) -> Result<(), Error> {
        let Compressed { context: (mut data, index), data: compressed, mut memory } = chunk;
        let is_readable = data.len <= longest_decompressed(compressed.len() as u64);
        let stored = if is_readable { &compressed } else { &memory };
        data.stored = stored.len() as u64;
        data.compression = if is_readable { data.compression } else { Compression::None };
        let position = self.out.position();
        self.out.append(&F::chunk_head(&data))?;
        self.out.append(stored)?;
        if self.memory.capacity() == 0 {
            memory.clear();
            self.memory = memory;
        }
        self.finish_chunk(position, data, index)
    }

    fn finish_chunk(&mut self, position: u64, data: ChunkData, index: ChunkIndex) -> Result<(), Error> {
        let end = self.out.position();
        let behind = self.format.end_chunk(FinishedChunk { position, end, data, index });
        Ok(self.out.append(&behind)?)
    }
}

/// Checksum of a chunk's decompressed data; 0 if the format has none.
fn checksum<F: ChunkFormat>(compression: Compression, data: &[u8]) -> u32 {
    if F::has_checksum(compression) { crc32fast::hash(data) } else { 0 }
}
