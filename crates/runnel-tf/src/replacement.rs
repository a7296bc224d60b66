//! Replacement of frames by new ones in a full buffer.
//!
//! A broadcaster may invent names of frames. So the frames of the broadcaster that has the most are replaced, and those of
//! the others stay.

use std::collections::HashMap;
use std::sync::Arc;

use crate::buffer_core::BufferCore;

/// A broadcaster with less than this part of the frames is not taken for the one that fills the buffer.
const LARGE_PART: usize = 8;

/// The part of the candidates that is removed at a time. Each removal looks at all transforms.
const REMOVED_PART: usize = 8;

impl BufferCore {
    /// Removes frames if those of a transform that are new would exceed the limit.
    pub(crate) fn free_capacity(&mut self, parent: &str, child: &str) {
        let is_new = |buffer: &Self, name| usize::from(buffer.names.find(name).is_none());
        let lacks = |buffer: &Self| {
            let wanted = buffer.names.len() + is_new(buffer, parent) + is_new(buffer, child);
            wanted > buffer.limits.frames
        };
        while lacks(self) && self.replace_some() {}
    }

    /// Removes the least recently updated frames of the broadcaster that has the most. False if there are none.
    fn replace_some(&mut self) -> bool {
        let largest = self.largest_authority();
        let is_candidate = |authority: &Arc<str>| largest.as_ref().is_none_or(|largest| largest == authority);
        let frames = self.frames.iter().enumerate();
        let mut candidates: Vec<(bool, u64, usize)> = frames
            .filter(|(_, frame)| is_candidate(&frame.authority))
            .filter_map(|(index, frame)| Some((frame.history.as_ref()?.is_static(), frame.updated, index)))
            .collect();
        // A static transform is not sent again.
        candidates.sort_unstable();
        candidates.truncate((candidates.len() / REMOVED_PART).max(1));
        let before = self.names.len();
        let mut removed = vec![false; self.frames.len()];
        candidates.iter().for_each(|(.., index)| removed[*index] = true);
        self.retain_frames(|index, _| !removed[index]);
        self.replaced += (before - self.names.len()) as u64;
        !candidates.is_empty()
    }

    /// The broadcaster with the most frames, parents included, if it has a large part of them.
    fn largest_authority(&self) -> Option<Arc<str>> {
        let mut counts: HashMap<&Arc<str>, usize> = HashMap::new();
        let mut is_counted = vec![false; self.frames.len()];
        for frame in &self.frames {
            let Some(history) = &frame.history else { continue };
            let of_frame = counts.entry(&frame.authority).or_default();
            *of_frame += 1;
            for parent in history.parents().map(|parent| parent.index()) {
                let is_only_parent = self.frames.get(parent).is_some_and(|frame| frame.history.is_none());
                if is_only_parent && !std::mem::replace(&mut is_counted[parent], true) {
                    *of_frame += 1;
                }
            }
        }
        let (authority, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        (count * LARGE_PART >= self.frames.len()).then(|| Arc::clone(authority))
    }
}
