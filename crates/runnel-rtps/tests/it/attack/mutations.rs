//! Captured datagrams with random bytes altered, in great numbers.

use std::time::Duration;

use super::{Captured, PERIOD, Scene};
use runnel_rtps::wire::HEADER_LEN;

/// Virtual time from one to the next.
const PAUSE: Duration = Duration::from_micros(250);

/// Words that often have a special meaning.
const WORDS: [u32; 6] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, u32::MAX];

/// Sends mutated datagrams to live links while they deliver; then they deliver all samples.
///
/// # Errors
/// As [`super::play`].
pub fn play_mutations(seed: u64, count: usize) -> Result<(), String> {
    let mut scene = Scene::new(seed);
    let mut publish_at = scene.net.now;
    for _ in 0..count {
        if scene.net.now >= publish_at {
            publish_at = scene.net.now + PERIOD;
            for link in scene.links.clone() {
                scene.publish(link);
            }
        }
        scene.mutate();
        scene.net.run_for(PAUSE);
    }
    let result = scene.check_bounds().and_then(|()| scene.recover());
    result.map_err(|why| format!("{why}\n{}", scene.report()))
}

impl Scene {
    fn mutate(&mut self) {
        let index = self.net.random(self.net.capture.len() as u32) as usize;
        let Some(Captured { from, to, mut bytes }) = self.net.capture.get(index).cloned() else { return };
        for _ in 0..1 + self.net.random(3) {
            // Most contain true GUIDs: others are refused immediately.
            let begin = if self.net.random(20) == 0 { 0 } else { HEADER_LEN };
            let at = begin + self.net.random((bytes.len() - begin) as u32) as usize;
            match self.net.random(4) {
                0 => bytes[at] = self.net.random(256) as u8,
                1 => bytes[at] ^= 1 << self.net.random(8),
                2 => bytes[at] = bytes[at].wrapping_add(1 + self.net.random(4) as u8),
                _ => {
                    let word = WORDS[self.net.random(WORDS.len() as u32) as usize].to_le_bytes();
                    let aligned = at - at % 4;
                    bytes.iter_mut().skip(aligned).zip(word).for_each(|(byte, new)| *byte = new);
                }
            }
        }
        if self.net.random(20) == 0 {
            let len = HEADER_LEN + self.net.random((bytes.len() - HEADER_LEN) as u32) as usize;
            bytes.truncate(len);
        }
        self.forged(from, to, &bytes);
    }
}
