//! Iterator over the numbers of an array.

use super::{Bytes, Number};
use core::marker::PhantomData;
use core::slice::ChunksExact;

/// Bytes per copy from another process's memory: a multiple of every element size.
const PART: usize = 64;

/// The numbers of a [`LeSlice`](super::LeSlice), or the bytes of [`Bytes`], in order.
#[derive(Clone, Debug)]
pub struct LeSliceIter<'a, T> {
    source: Source<'a>,
    numbers: PhantomData<T>,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    Own(ChunksExact<'a, u8>),
    Foreign(Foreign<'a>),
}

/// Numbers of another process, copied part by part.
#[derive(Clone, Debug)]
struct Foreign<'a> {
    part: [u8; PART],
    /// The next byte of `part`, and the number of bytes in use.
    next: usize,
    end: usize,
    rest: Bytes<'a>,
}

impl<'a, T: Number> LeSliceIter<'a, T> {
    /// The numbers in `bytes`; an incomplete last one is ignored.
    pub(super) fn new(bytes: Bytes<'a>) -> Self {
        let source = match bytes.as_slice() {
            Some(bytes) => Source::Own(bytes.chunks_exact(size_of::<T>())),
            None => Source::Foreign(Foreign { part: [0; PART], next: 0, end: 0, rest: bytes }),
        };
        Self { source, numbers: PhantomData }
    }

    fn remaining(&self) -> usize {
        match &self.source {
            Source::Own(chunks) => chunks.len(),
            Source::Foreign(foreign) => (foreign.end - foreign.next + foreign.rest.len()) / size_of::<T>(),
        }
    }
}

impl Foreign<'_> {
    /// Copies the next part if the last one is used up.
    fn refill(&mut self) {
        if self.next == self.end
            && let Some((first, rest)) = self.rest.split_at(self.rest.len().min(PART))
        {
            (self.next, self.end) = (0, first.copy_to_slice(&mut self.part));
            self.rest = rest;
        }
    }

    /// The rest of a part; `None` at the end.
    fn take_part(&mut self) -> Option<&[u8]> {
        self.refill();
        let part = self.part.get(core::mem::replace(&mut self.next, self.end)..self.end)?;
        Some(part).filter(|part| !part.is_empty())
    }

    fn take(&mut self, size: usize) -> Option<&[u8]> {
        self.refill();
        let end = self.next.checked_add(size).filter(|end| *end <= self.end)?;
        self.part.get(core::mem::replace(&mut self.next, end)..end)
    }
}

impl<T: Number> Iterator for LeSliceIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let number = match &mut self.source {
            Source::Own(chunks) => chunks.next()?,
            Source::Foreign(foreign) => foreign.take(size_of::<T>())?,
        };
        Some(bytemuck::pod_read_unaligned(number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining(), Some(self.remaining()))
    }

    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut f: F) -> B {
        match self.source {
            Source::Own(chunks) => {
                chunks.fold(init, |sum, number| f(sum, bytemuck::pod_read_unaligned(number)))
            }
            Source::Foreign(mut foreign) => {
                let mut sum = init;
                while let Some(part) = foreign.take_part() {
                    let numbers = part.chunks_exact(size_of::<T>());
                    sum = numbers.fold(sum, |sum, number| f(sum, bytemuck::pod_read_unaligned(number)));
                }
                sum
            }
        }
    }
}

impl<T: Number> ExactSizeIterator for LeSliceIter<'_, T> {}
