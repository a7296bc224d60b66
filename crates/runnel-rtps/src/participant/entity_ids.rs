//! Allocation of entity ids.

/// Greatest number: an entity id has three bytes for it.
const GREATEST: u32 = 0xff_ffff;

/// Counter from 1 on that wraps after the greatest number.
#[derive(Debug, Default)]
pub(super) struct EntityIds {
    latest: u32,
}

impl EntityIds {
    /// Returns the next free number. There must be one.
    pub fn next(&mut self, is_free: impl Fn(u32) -> bool) -> u32 {
        loop {
            self.latest = self.latest % GREATEST + 1;
            if is_free(self.latest) {
                return self.latest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_ids_wrap_to_free_numbers() {
        let mut numbers = EntityIds { latest: GREATEST - 1 };
        let next = [(); 3].map(|()| numbers.next(|number| number != 1));
        assert_eq!(next, [GREATEST, 2, 3]);
    }
}
