//! A file with its index.

use std::io::{Read, Seek};

use super::{BagIndex, ChunkInfo, ChunkSource, LoadedChunk, Messages, Source};
use crate::{Error, Message, Selection};

/// Index of a file in a format with chunks.
pub(crate) trait FileIndex: Sized {
    /// Channels and chunks.
    fn bag(&self) -> &BagIndex;

    /// Makes the index from the whole file. Also returns the first damage.
    ///
    /// # Errors
    /// Those of the input.
    fn scan<R: Read + Seek>(source: &mut Source<R>) -> Result<(Self, Option<Error>), Error>;

    /// Reads the chunk at this position in the file. Together with damage, returns what precedes it.
    ///
    /// # Errors
    /// Those of the input, and when nothing of the chunk can be read.
    fn load<R: Read + Seek>(
        &self,
        source: &mut Source<R>,
        position: u64,
    ) -> Result<(LoadedChunk, Option<Error>), Error>;
}

pub(crate) struct IndexedFile<R, I> {
    pub(crate) source: Source<R>,
    pub(crate) index: I,
    /// The first damage: everything before it is in the index.
    pub(crate) damage: Option<Error>,
}

impl<R: Read + Seek, I: FileIndex> IndexedFile<R, I> {
    /// A file with the index that was read from its end. The whole file is read if it has none or if that is damaged.
    ///
    /// # Errors
    /// Those of the input.
    pub(crate) fn new(mut source: Source<R>, index: Result<Option<I>, Error>) -> Result<Self, Error> {
        let (index, damage) = match index {
            Ok(Some(index)) => (index, None),
            Ok(None) => I::scan(&mut source)?,
            Err(Error::Io(error)) => return Err(Error::Io(error)),
            Err(error) => {
                let (index, damage) = I::scan(&mut source)?;
                (index, damage.or(Some(error)))
            }
        };
        Ok(Self { source, index, damage })
    }

    pub(crate) fn messages(
        &mut self,
        selection: &Selection,
    ) -> Box<dyn Iterator<Item = Result<Message, Error>> + Send + '_>
    where
        Self: Send,
    {
        Box::new(Messages::new(self, selection))
    }
}

impl<R: Read + Seek, I: FileIndex> ChunkSource for IndexedFile<R, I> {
    fn chunks(&self) -> &[ChunkInfo] {
        &self.index.bag().chunks
    }

    fn load(&mut self, chunk: usize) -> Result<LoadedChunk, Error> {
        let ChunkInfo { position, is_damaged, .. } = self.index.bag().chunks[chunk];
        let (loaded, damage) = self.index.load(&mut self.source, position)?;
        match damage {
            Some(error) if !is_damaged => Err(error),
            _ => Ok(loaded),
        }
    }
}
