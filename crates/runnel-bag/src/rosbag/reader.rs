//! Reader of bags, finished or not.

use std::io::{Read, Seek};

use super::head::Head;
use super::index::Index;
use super::records::{MAGIC, Op};
use super::{metadata, stored_chunk};
use crate::chunks::{IndexedFile, Source};
use crate::{
    BagReader, Channel, ChunkInfo, ChunkTotals, Compression, Error, Format, Message, Metadata, Selection,
    Summary,
};

/// A bag that is read.
///
/// The index at the end of the file says where the messages are. Where it is missing or damaged, because the recorder
/// was killed or the file is cut, [`Reader::open`] reads the whole file and finds every message that is complete.
pub struct Reader<R> {
    file: IndexedFile<R, Index>,
    summary: Summary,
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
        let header = Head::read(&mut source, MAGIC.len() as u64)?;
        let index_position = check_header(&header)?;
        let index = match index_position {
            0 => Ok(None),
            position => Index::read(&mut source, &header, position).map(Some),
        };
        let mut file = IndexedFile::new(source, index)?;
        let summary = summary(&mut file, index_position != 0)?;
        Ok(Self { file, summary })
    }

    /// The chunks that have messages, in the order of the file.
    pub fn chunks(&self) -> &[ChunkInfo] {
        &self.file.index.bag.chunks
    }

    #[cfg(test)]
    pub(super) fn messages_within(
        &mut self,
        memory_limit: usize,
    ) -> impl Iterator<Item = Result<Message, Error>> {
        crate::chunks::Messages::new(&mut self.file, &Selection::default()).with_memory_limit(memory_limit)
    }
}

impl<R: Read + Seek + Send> BagReader for Reader<R> {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn channels(&self) -> &[Channel] {
        &self.file.index.bag.channels
    }

    fn damage(&self) -> Option<&Error> {
        self.file.damage.as_ref()
    }

    fn messages(
        &mut self,
        selection: &Selection,
    ) -> Box<dyn Iterator<Item = Result<Message, Error>> + Send + '_> {
        self.file.messages(selection)
    }

    fn metadata(&mut self) -> Result<Vec<Metadata>, Error> {
        metadata::read(&mut self.file.source, &self.file.index.metadata)
    }
}

fn summary<R: Read + Seek>(file: &mut IndexedFile<R, Index>, is_finished: bool) -> Result<Summary, Error> {
    let totals = totals(file)?;
    let IndexedFile { source, index: Index { bag, .. }, .. } = file;
    Ok(Summary {
        format: Format::Rosbag,
        len: source.len(),
        is_finished,
        start: bag.chunks.iter().map(|chunk| chunk.start).min(),
        end: bag.chunks.iter().map(|chunk| chunk.end).max(),
        counts: bag.counts.clone(),
        chunks: totals,
    })
}

/// Totals of the chunks, from their headers. Chunks with a malformed header are left out.
fn totals<R: Read + Seek>(
    file: &mut IndexedFile<R, Index>,
) -> Result<Vec<(Compression, ChunkTotals)>, Error> {
    let mut totals = Vec::new();
    for chunk in &file.index.bag.chunks {
        let head = match Head::read(&mut file.source, chunk.position) {
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

fn check_magic<R: Read + Seek>(source: &mut Source<R>) -> Result<(), Error> {
    let magic = match source.array::<{ MAGIC.len() }>(0, 0) {
        Err(Error::Truncated { .. }) => return Err(Error::NotABag),
        magic => magic?,
    };
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
