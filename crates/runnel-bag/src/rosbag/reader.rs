//! Reader of bags, finished or not.

use std::io::{Read, Seek};

use super::records::{MAGIC, Op};
use super::scan::{self, Index};
use super::source::{Head, Source};
use super::stored_chunk;
use crate::chunks::{ChunkSource, LoadedChunk, Messages};
use crate::{
    BagReader, Channel, ChunkInfo, ChunkTotals, Compression, Error, Format, Message, Selection, Summary,
};

/// A bag that is read.
///
/// The index at the end of the file says where the messages are. Where it is missing or damaged, because the recorder
/// was killed or the file is cut, [`Reader::open`] reads the whole file and finds every message that is complete.
pub struct Reader<R> {
    file: IndexedFile<R>,
    summary: Summary,
    damage: Option<Error>,
}

struct IndexedFile<R> {
    source: Source<R>,
    index: Index,
}

impl<R: Read + Seek> Reader<R> {
    /// Opens a bag.
    ///
    /// # Errors
    /// Those of the input; [`Error::NotABag`], [`Error::UnsupportedVersion`], [`Error::Encrypted`]; and when the first
    /// record is malformed. Later damage is no error, see [`BagReader::damage`].
    pub fn open(input: R) -> Result<Self, Error> {
        let mut source = Source::new(input)?;
        check_magic(&mut source)?;
        let header = source.head(MAGIC.len() as u64)?;
        let index_position = check_header(&header)?;
        let (index, damage) = match index_position {
            0 => scan::file(&mut source, header.end())?,
            position => match scan::index(&mut source, &header, position) {
                Ok(index) => (index, None),
                Err(Error::Io(error)) => return Err(Error::Io(error)),
                Err(error) => {
                    let (index, damage) = scan::file(&mut source, header.end())?;
                    (index, damage.or(Some(error)))
                }
            },
        };
        let mut file = IndexedFile { source, index };
        let summary = file.summary(index_position != 0)?;
        Ok(Self { file, summary, damage })
    }

    /// The chunks that have messages, in the order of the file.
    pub fn chunks(&self) -> &[ChunkInfo] {
        &self.file.index.chunks
    }

    #[cfg(test)]
    pub(super) fn messages_within(
        &mut self,
        memory_limit: usize,
    ) -> impl Iterator<Item = Result<Message, Error>> {
        Messages::new(&mut self.file, &Selection::default()).with_memory_limit(memory_limit)
    }
}

impl<R: Read + Seek + Send> BagReader for Reader<R> {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn channels(&self) -> &[Channel] {
        &self.file.index.channels
    }

    fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    fn messages(
        &mut self,
        selection: &Selection,
    ) -> Box<dyn Iterator<Item = Result<Message, Error>> + Send + '_> {
        Box::new(Messages::new(&mut self.file, selection))
    }
}

impl<R: Read + Seek> IndexedFile<R> {
    fn summary(&mut self, is_finished: bool) -> Result<Summary, Error> {
        let totals = self.totals()?;
        let Index { chunks, counts, .. } = &self.index;
        Ok(Summary {
            format: Format::Rosbag,
            len: self.source.len(),
            is_finished,
            start: chunks.iter().map(|chunk| chunk.start).min(),
            end: chunks.iter().map(|chunk| chunk.end).max(),
            counts: counts.clone(),
            chunks: totals,
        })
    }

    /// Totals of the chunks, from their headers. Chunks with a malformed header are left out.
    fn totals(&mut self) -> Result<Vec<(Compression, ChunkTotals)>, Error> {
        let mut totals = Vec::new();
        for chunk in &self.index.chunks {
            let head = match self.source.head(chunk.position) {
                Err(Error::Io(error)) => return Err(Error::Io(error)),
                head => head,
            };
            let Ok(head) = head else { continue };
            if let Ok((compression, size)) = stored_chunk::fields(&head) {
                ChunkTotals::add(&mut totals, compression, head.data_len.into(), size.into());
            }
        }
        Ok(totals)
    }
}

impl<R: Read + Seek> ChunkSource for IndexedFile<R> {
    fn chunks(&self) -> &[ChunkInfo] {
        &self.index.chunks
    }

    fn load(&mut self, chunk: usize) -> Result<LoadedChunk, Error> {
        let ChunkInfo { position, is_damaged, .. } = self.index.chunks[chunk];
        let head = self.source.head(position)?;
        let (loaded, damage) = stored_chunk::load(&mut self.source, &head)?;
        match damage {
            Some(error) if !is_damaged => Err(error),
            _ => self.index.loaded(position, loaded),
        }
    }
}

fn check_magic<R: Read + Seek>(source: &mut Source<R>) -> Result<(), Error> {
    let mut magic = [0; MAGIC.len()];
    if source.len() < MAGIC.len() as u64 {
        return Err(Error::NotABag);
    }
    source.fill(0, 0, &mut magic)?;
    if magic == *MAGIC {
        return Ok(());
    }
    let version = magic.strip_prefix(b"#ROSBAG V").or_else(|| magic.strip_prefix(b"#ROSRECORD V"));
    let version = version.map(|version| String::from_utf8_lossy(version).trim().to_owned());
    Err(version.map_or(Error::NotABag, Error::UnsupportedVersion))
}

/// Checks the bag header; returns the position of the index, 0 for an unfinished bag.
fn check_header(header: &Head) -> Result<u64, Error> {
    let fields = header.fields();
    if fields.op() != Some(Op::BagHeader as u8) {
        return Err(header.malformed("the first record is no bag header"));
    }
    match fields.text("encryptor") {
        Some(plugin) if !plugin.is_empty() => Err(Error::Encrypted(plugin)),
        _ => fields.u64("index_pos").ok_or_else(|| header.malformed("the bag header has no index_pos")),
    }
}
