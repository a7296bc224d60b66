//! A copy of linear memory, by which the pages are found that have changed since.

use super::image::{MemoryImage, Page};
use crate::instrumented::PAGE;

/// The pages of a memory; those that are zero throughout take no room.
#[derive(Default)]
pub struct MemoryCopy {
    pages: Vec<Option<Box<[u8]>>>,
    /// Those that have changed, until they are taken.
    changed: Vec<u32>,
}

impl MemoryCopy {
    /// Copies what has changed. The guest is suspended meanwhile, so nothing else is done.
    pub fn update(&mut self, memory: &[u8]) {
        let zero = [0; PAGE];
        self.pages.resize_with(memory.len() / PAGE, || None);
        for ((number, page), copy) in (0..).zip(memory.chunks_exact(PAGE)).zip(&mut self.pages) {
            match copy {
                Some(copy) if **copy == *page => continue,
                Some(copy) => copy.copy_from_slice(page),
                None if page == zero => continue,
                None => *copy = Some(page.into()),
            }
            if self.changed.last() != Some(&number) {
                self.changed.push(number);
            }
        }
    }

    /// Pages of the memory.
    pub fn page_count(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Takes the pages that have changed since the last time, compressed.
    pub fn take_changed(&mut self) -> impl Iterator<Item = Page> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        let page = |number: u32| {
            let page = self.pages.get(number as usize)?.as_deref()?;
            Some(Page { number, block: lz4_flex::block::compress(page).into() })
        };
        changed.into_iter().filter_map(page)
    }
}

/// The same memory on another host, which gets the pages that have changed.
#[derive(Default)]
pub struct ReceivedPages(std::collections::BTreeMap<u32, Box<[u8]>>);

impl ReceivedPages {
    /// Replaces a page of a memory that may have `most` pages.
    pub fn put(&mut self, page: Page, most: u32) -> Result<(), String> {
        // A page that cannot be compressed takes little more.
        if page.number >= most || page.block.len() > 2 * PAGE {
            return Err("its memory is larger than limits.memory".to_owned());
        }
        self.0.insert(page.number, page.block);
        Ok(())
    }

    /// The memory of so many pages.
    pub fn into_image(self, pages: u32) -> MemoryImage {
        let content = self.0.into_iter().map(|(number, block)| Page { number, block }).collect();
        MemoryImage { pages, content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_pages_are_found() {
        let mut memory = vec![0; 4 * PAGE];
        memory[PAGE] = 7;
        let mut copy = MemoryCopy::default();
        copy.update(&memory);
        let numbers = |copy: &mut MemoryCopy| copy.take_changed().map(|page| page.number).collect::<Vec<_>>();
        assert_eq!(numbers(&mut copy), [1], "the others are zero");
        memory[3 * PAGE + 5] = 1;
        memory[PAGE] = 0;
        copy.update(&memory);
        memory.resize(6 * PAGE, 9);
        copy.update(&memory);
        assert_eq!(numbers(&mut copy), [1, 3, 4, 5], "a page that is zero again has changed");
        copy.update(&memory);
        assert!(numbers(&mut copy).is_empty());
    }

    #[test]
    fn received_pages_make_the_memory() {
        let mut memory = vec![0; 3 * PAGE];
        memory[0] = 1;
        let (mut copy, mut received) = (MemoryCopy::default(), ReceivedPages::default());
        copy.update(&memory);
        copy.take_changed().for_each(|page| received.put(page, 3).unwrap());
        memory[0] = 2;
        memory[2 * PAGE] = 3;
        copy.update(&memory);
        copy.take_changed().for_each(|page| received.put(page, 3).unwrap());
        assert!(received.put(Page { number: 3, block: [].into() }, 3).is_err());
        let image = received.into_image(copy.page_count());
        assert!(image == MemoryImage::of(&memory));
    }
}
