//! Parts of a player, and its pace.

use std::time::Duration;

use crate::bag::play::clocks::Clocks;
use crate::bag::play::control::Controls;
use crate::bag::play::kept::KeptChannels;
use crate::bag::play::progress::ProgressLine;
use crate::bag::play::publishers::Publishers;
use crate::bag::play::rate_control::RateControl;
use crate::bag::play::read_splits::ReadSplits;
use crate::bag::play::source::Source;

/// How a bag is played.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Seconds of the bag in a second.
    pub rate: f64,
    /// Whether messages are published without waiting until they are due.
    pub is_immediate: bool,
    /// Times without messages that are longer than this are left out.
    pub skip_empty: Option<Duration>,
    /// Whether it begins paused.
    pub is_paused: bool,
}

/// Parts of a player.
pub struct PlayerParts {
    pub publishers: Publishers,
    pub clocks: Clocks,
    pub controls: Controls,
    pub source: Source,
    pub kept: KeptChannels,
    /// By channel, whether the player pauses before its messages.
    pub pauses: Vec<bool>,
    pub progress: ProgressLine,
    pub rate_control: Option<RateControl>,
    pub read_splits: Option<ReadSplits>,
}
