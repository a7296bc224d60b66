//! Linear memory without its zero pages.

use serde::{Deserialize, Serialize};
use wasmtime::{Memory, Store};

use crate::host::Host;
use crate::instrumented::PAGE;

/// A memory: its pages that are not zero throughout. They are compressed until they are restored, within the guest's
/// limits.
#[derive(Clone, PartialEq, Eq)]
pub struct MemoryImage {
    /// Pages of the memory.
    pub pages: u32,
    pub content: Vec<Page>,
}

/// A page, as one LZ4 block.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    pub number: u32,
    pub block: Box<[u8]>,
}

impl MemoryImage {
    /// The memory of a guest that is suspended.
    pub fn of(memory: &[u8]) -> Self {
        let is_used = |page: &&[u8]| page.iter().any(|byte| *byte != 0);
        let numbered = (0..).zip(memory.chunks_exact(PAGE));
        let used = numbered.filter(|(_, page)| is_used(page));
        let compress = |(number, page)| Page { number, block: lz4_flex::block::compress(page).into() };
        Self { pages: (memory.len() / PAGE) as u32, content: used.map(compress).collect() }
    }

    /// Bytes of the memory.
    pub fn size(&self) -> usize {
        (self.pages as usize).saturating_mul(PAGE)
    }

    /// Sets the memory of a new instance, which has content already.
    pub fn restore(&self, memory: Memory, store: &mut Store<Host>) -> Result<(), String> {
        let now = memory.data_size(&mut *store);
        let more = self.size().checked_sub(now);
        let more = more
            .ok_or_else(|| format!("its memory has {} bytes, and that of the module {now}", self.size()))?;
        memory
            .grow(&mut *store, (more / PAGE) as u64)
            .map_err(|_| format!("its memory has {} bytes, more than limits.memory", self.size()))?;
        let mut content = self.content.iter().peekable();
        for (number, place) in (0..).zip(memory.data_mut(store).chunks_exact_mut(PAGE)) {
            match content.next_if(|page| page.number == number) {
                Some(page) => match lz4_flex::block::decompress_into(&page.block, place) {
                    Ok(PAGE) => {}
                    _ => return Err("its memory is damaged".to_owned()),
                },
                // Writing zeros would make the page resident.
                None if place.iter().any(|byte| *byte != 0) => place.fill(0),
                None => {}
            }
        }
        // Numbers that do not rise, or are beyond the memory.
        if content.next().is_some() { Err("its memory is damaged".to_owned()) } else { Ok(()) }
    }
}
