//! Reader of files, finished or not.

use std::io::{Read, Seek, Write};

use super::MAGIC;
use super::attachment::{self, AttachmentInfo};
use super::head::Head;
use super::index::Index;
use super::records::{Fields, op};
use super::summary;
use crate::chunks::{IndexedFile, Source};
use crate::{
    Attachment, BagReader, Channel, ChunkInfo, Error, Format, Message, Metadata, Selection, Summary,
};

/// An MCAP file that is read.
///
/// The summary at the end of the file says where the messages are. Where it is missing or damaged, because the recorder
/// was killed or the file is cut, [`Reader::open`] reads the whole file and finds every message that is complete.
pub struct Reader<R> {
    file: IndexedFile<R, Index>,
    summary: Summary,
}

impl<R: Read + Seek> Reader<R> {
    /// Opens a file.
    ///
    /// # Errors
    /// Those of the input, [`Error::NotABag`] and [`Error::UnsupportedVersion`]. Later damage is no error, see
    /// [`BagReader::damage`].
    pub fn open(input: R) -> Result<Self, Error> {
        let mut source = Source::new(input)?;
        check_magic(&mut source)?;
        let footer = summary::footer(&mut source)?;
        let index = footer.as_ref().map_or(Ok(None), |footer| summary::index(&mut source, footer));
        let file = IndexedFile::new(source, index)?;
        let summary = summary(&file, footer.is_some());
        Ok(Self { file, summary })
    }

    /// The profile: `ros1`, `ros2`, another, or empty.
    pub fn profile(&self) -> &str {
        &self.file.index.profile
    }

    /// The chunks, and runs of messages outside of chunks, in the order of the file.
    pub fn chunks(&self) -> &[ChunkInfo] {
        &self.file.index.bag.chunks
    }

    /// The attachments, in the order of the file.
    pub fn attachments(&self) -> &[AttachmentInfo] {
        &self.file.index.attachments
    }

    /// Writes the bytes of an attachment of this file to an output.
    ///
    /// # Errors
    /// Those of the input and of the output, and when the attachment is damaged.
    pub fn copy_attachment(&mut self, info: &AttachmentInfo, out: &mut dyn Write) -> Result<(), Error> {
        attachment::copy(&mut self.file.source, info.position, out).map(drop)
    }

    /// Reads an attachment of this file into memory.
    ///
    /// # Errors
    /// Those of the input, and when the attachment is damaged or longer than 1 GiB. [`Reader::copy_attachment`] has no
    /// limit.
    pub fn read_attachment(&mut self, info: &AttachmentInfo) -> Result<Attachment, Error> {
        attachment::load(&mut self.file.source, info.position)
    }

    fn read_metadata(&mut self, at: u64) -> Result<Metadata, Error> {
        let head = Head::read(&mut self.file.source, at)?;
        let content = head.read_content(&mut self.file.source)?;
        let mut fields = Fields::new(&content);
        let parsed = (|| Some(Metadata { name: fields.text()?, values: fields.texts()? }))();
        let parsed = parsed.filter(|_| head.op == op::METADATA);
        parsed.ok_or_else(|| head.malformed("the metadata are malformed"))
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
        let positions = self.file.index.metadata.clone();
        let records = positions.into_iter().map(|at| self.read_metadata(at));
        records.collect::<Result<_, _>>().map(Metadata::latest)
    }

    fn read_attachments(&mut self) -> Box<dyn Iterator<Item = Result<Attachment, Error>> + Send + '_> {
        let IndexedFile { source, index, .. } = &mut self.file;
        Box::new(index.attachments.iter().map(|info| attachment::load(source, info.position)))
    }
}

fn summary<R: Read + Seek>(file: &IndexedFile<R, Index>, is_finished: bool) -> Summary {
    let IndexedFile { source, index, .. } = file;
    Summary {
        format: Format::Mcap,
        len: source.len(),
        is_finished,
        start: index.time_range.map(|[start, _]| start),
        end: index.time_range.map(|[_, end]| end),
        counts: index.bag.counts.clone(),
        chunks: index.totals.clone(),
    }
}

fn check_magic<R: Read + Seek>(source: &mut Source<R>) -> Result<(), Error> {
    let magic = match source.array::<{ MAGIC.len() }>(0, 0) {
        Err(Error::Truncated { .. }) => return Err(Error::NotABag),
        magic => magic?,
    };
    match magic {
        _ if magic == *MAGIC => Ok(()),
        [0x89, b'M', b'C', b'A', b'P', version, b'\r', b'\n'] => {
            Err(Error::UnsupportedVersion(char::from(version).to_string()))
        }
        _ => Err(Error::NotABag),
    }
}
