//! Allocation of entity ids.

/// Greatest number: an entity id has three bytes for it.
const LAST: u32 = 0xff_ffff;

/// Counter from 1 on that wraps after the greatest number.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    latest: u32,
}

impl Numbers {
    /// Returns the next free number. There must be one.
    pub fn next(&mut self, is_free: impl Fn(u32) -> bool) -> u32 {
        loop {
            self.latest = self.latest % LAST + 1;
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
    fn after_the_last_one_they_begin_again_with_those_that_are_free() {
        let mut numbers = Numbers { latest: LAST - 1 };
        let next = [(); 3].map(|()| numbers.next(|number| number != 1));
        assert_eq!(next, [LAST, 2, 3]);
    }
}
