//! Seeded random numbers.

use std::time::Duration;

/// A small generator (SplitMix64, Steele, Lea and Flood 2014). Equal seeds give equal numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The generator for a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, and without, `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.bits()) * (end as u128);
        (wide >> 64) as usize
    }

    /// True with a probability of `chance` percent.
    pub fn percent(&mut self, chance: u32) -> bool {
        self.below(100) < chance as usize
    }

    /// A duration from `least` to `most`, both included.
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = most.saturating_sub(least).as_nanos() as usize;
        least + Duration::from_nanos(self.below(span + 1) as u64)
    }

    /// A random element, or `None` if there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_seeds_give_equal_numbers() {
        let numbers = |seed| {
            let mut rng = Rng::new(seed);
            (0..4).map(|_| rng.bits()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }

    #[test]
    fn numbers_cover_their_range() {
        let mut rng = Rng::new(1);
        let drawn: Vec<usize> = (0..1000).map(|_| rng.below(3)).collect();
        assert!((0..3).all(|number| drawn.contains(&number)) && drawn.iter().all(|number| *number < 3));
        assert_eq!((rng.below(0), rng.pick::<u8>(&[])), (0, None));
        assert_eq!(rng.between(Duration::from_secs(2), Duration::from_secs(2)), Duration::from_secs(2));
    }
}
