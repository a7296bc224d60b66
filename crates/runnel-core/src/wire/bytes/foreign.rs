//! Bytes that another process can write at any time.

#![allow(
    unsafe_code,
    reason = "vectors grow by bytes that are copied into their uninitialized spare capacity"
)]

use super::blocks::copy_blocks;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a word.
const WORD: usize = size_of::<AtomicUsize>();

/// Sizes of the buffer into which bytes are copied before use: for few bytes, where clearing a longer buffer would cost more,
/// and for many.
const SHORT_PART: usize = 512;
const PART: usize = 2048;

/// See the module's documentation. Few bytes are read by word loads, which the standard library allows on read-only memory
/// and which are an eighth of the byte loads; many bytes by [`copy_blocks`].
#[derive(Clone, Copy)]
pub(super) struct Foreign<'a> {
    /// From the word of the first byte on.
    words: &'a [AtomicUsize],
    /// Bytes of the first word before the first byte; less than a word.
    skipped: usize,
    len: usize,
}

impl<'a> Foreign<'a> {
    pub(super) fn new(words: &'a [AtomicUsize], start: usize, len: usize) -> Option<Self> {
        let end = start.checked_add(len)?;
        let words = words.get(start / WORD..end.div_ceil(WORD).max(start / WORD))?;
        Some(Self { words, skipped: start % WORD, len })
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast::<u8>().wrapping_add(self.skipped)
    }

    pub(super) fn get(&self, index: usize) -> Option<u8> {
        let (byte, _) = self.split_at(index)?.1.split_array::<1>()?;
        Some(byte[0])
    }

    #[inline]
    pub(super) fn split_at(&self, count: usize) -> Option<(Self, Self)> {
        let remaining = self.len.checked_sub(count)?;
        let start = self.skipped + count;
        let words = self.words.get(start / WORD..)?;
        Some((Self { len: count, ..*self }, Self { words, skipped: start % WORD, len: remaining }))
    }

    // Apart from where it is called, so that the code for bytes of this process stays short there.
    #[inline(never)]
    pub(super) fn split_array<const N: usize>(&self) -> Option<([u8; N], Self)> {
        let (first, rest) = self.split_at(N)?;
        let mut array = [0; N];
        first.copy_to(&mut array);
        Some((array, rest))
    }

    /// Copies as many bytes as both have.
    pub(super) fn copy_to(&self, to: &mut [u8]) {
        // SAFETY: both slices have one layout, and `fill` writes only bytes, never uninitialized memory.
        self.fill(unsafe { &mut *(core::ptr::from_mut(to) as *mut [MaybeUninit<u8>]) });
    }

    /// Appends all bytes to a vector that has capacity for them.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        let filled = self.fill(out.spare_capacity_mut());
        debug_assert_eq!(filled, self.len, "the vector has capacity for all");
        // SAFETY: `fill` has written this number of bytes at the beginning of the spare capacity.
        unsafe { out.set_len(out.len() + filled) };
    }

    /// Copies the minimum of both lengths, and returns the number of bytes written to `to`.
    fn fill(&self, to: &mut [MaybeUninit<u8>]) -> usize {
        let count = self.len.min(to.len());
        let to = &mut to[..count];
        let copied = copy_blocks(self.words, self.skipped, to);
        let (_, rest) = self.split_at(copied).expect("at most the available bytes are copied");
        rest.copy_by_words(&mut to[copied..]);
        count
    }

    /// Fills `to` word by word. There are as many bytes.
    fn copy_by_words(&self, to: &mut [MaybeUninit<u8>]) {
        let before = if self.skipped == 0 { 0 } else { (WORD - self.skipped).min(to.len()) };
        let (head, to) = to.split_at_mut(before);
        let (first, words) = self.words.split_at(usize::from(before > 0));
        copy_words(first, self.skipped, head);
        let (whole, tail) = to.as_chunks_mut();
        let (words, last) = words.split_at(whole.len());
        for (place, word) in whole.iter_mut().zip(words) {
            *place = word.load(Ordering::Relaxed).to_ne_bytes().map(MaybeUninit::new);
        }
        copy_words(last, 0, tail);
    }

    /// Calls `each` with copies of all bytes in order.
    pub(super) fn for_each_part(&self, each: impl FnMut(&[u8])) {
        if self.len <= SHORT_PART {
            self.for_each_part_of::<SHORT_PART>(each);
        } else {
            self.for_each_part_of::<PART>(each);
        }
    }

    fn for_each_part_of<const MOST: usize>(&self, mut each: impl FnMut(&[u8])) {
        let (mut part, mut rest) = ([0; MOST], *self);
        while let Some((first, behind)) = rest.split_at(rest.len.min(MOST)).filter(|_| rest.len > 0) {
            let copy = part.get_mut(..first.len).unwrap_or_default();
            first.copy_to(copy);
            each(copy);
            rest = behind;
        }
    }
}

/// Fills `to`, which is not longer than the words, with their bytes after the `skipped` ones.
fn copy_words(words: &[AtomicUsize], skipped: usize, to: &mut [MaybeUninit<u8>]) {
    if to.is_empty() {
        return;
    }
    let bytes = words[0].load(Ordering::Relaxed).to_ne_bytes();
    let bytes = &bytes[skipped..][..to.len()];
    for (place, byte) in to.iter_mut().zip(bytes) {
        place.write(*byte);
    }
}
