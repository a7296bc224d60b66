//! Local readers of a submessage.

use crate::wire::EntityId;
use alloc::vec::Vec;

/// Local readers of a submessage: a few need no allocation.
#[derive(Default)]
pub(super) struct LocalReaders {
    few: [Option<EntityId>; 2],
    more: Vec<EntityId>,
}

impl LocalReaders {
    pub fn add(&mut self, reader: EntityId) {
        match self.few.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(reader),
            None => self.more.push(reader),
        }
    }
}

impl IntoIterator for LocalReaders {
    type Item = EntityId;
    type IntoIter = core::iter::Chain<
        core::iter::Flatten<core::array::IntoIter<Option<EntityId>, 2>>,
        alloc::vec::IntoIter<EntityId>,
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.few.into_iter().flatten().chain(self.more)
    }
}
