//! The messages from before a time that late subscribers would have got.

use std::collections::BTreeMap;
use std::time::Duration;

use runnel_bag::Channel;

use super::played_type;
use super::prefetch::Next;
use super::source::Source;
use crate::bag::inputs::{Found, Wanted};
use crate::bag::last_messages::{LastMessages, Limits};

/// Limits of these messages.
const LIMITS: Limits = Limits { messages: 100_000, bytes: 64 << 20 };

/// How often `goes_on` is asked.
const STEP: Duration = Duration::from_millis(20);

/// Channels whose publishers kept messages for late subscribers, and how many.
pub struct KeptChannels(BTreeMap<usize, usize>);

impl KeptChannels {
    /// Those among the channels that are played.
    pub fn of(channels: &[Channel], played: &[usize]) -> Self {
        let depths = played.iter().map(|position| (*position, played_type::kept(&channels[*position])));
        Self(depths.filter(|(_, depth)| *depth > 0).collect())
    }

    /// The last messages of each of these channels before a time, as many as its publishers kept. Empty if the playing ends
    /// before.
    pub fn before(&self, source: &Source, start: u64, goes_on: impl Fn() -> bool) -> Vec<Found> {
        if self.0.is_empty() || start == 0 {
            return Vec::new();
        }
        let channels = Some(self.0.keys().copied().collect());
        let reading = source.read(Wanted { channels, start: None, end: Some(start - 1) });
        let mut kept = LastMessages::new(LIMITS);
        while goes_on() {
            match reading.next(STEP) {
                Next::Read(read) => {
                    // Damaged parts are reported when the bag is played.
                    if let Ok(found) = *read {
                        let depth = self.0.get(&found.channel).copied().unwrap_or_default();
                        kept.keep(found.channel, depth, found.message.data.len(), || Ok(found));
                    }
                }
                Next::Wait => {}
                Next::End => return kept.into_messages().collect(),
            }
        }
        Vec::new()
    }
}
