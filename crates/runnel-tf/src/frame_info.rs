//! What is known of each frame, for people and tools.

use runnel_core::time::Time;

use crate::buffer_core::{BufferCore, Frame};
use crate::history::History;

/// What a buffer knows of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameInfo {
    /// Its name.
    pub name: String,
    /// Its parent at the time of its latest transform; `None` if it is known only as a parent.
    pub parent: Option<String>,
    /// The node that broadcast the latest transform.
    pub authority: String,
    /// Whether its transform holds at every time.
    pub is_static: bool,
    /// Transforms that are kept.
    pub transforms: usize,
    /// The time of the oldest transform that is kept; `None` if it is static.
    pub oldest: Option<Time>,
    /// The time of the latest transform; `None` if it is static.
    pub latest: Option<Time>,
}

impl FrameInfo {
    /// Transforms per second, by their times; `None` if it is static or has one transform.
    pub fn rate(&self) -> Option<f64> {
        let span = self.span()?;
        (span > 0.0).then(|| self.transforms.saturating_sub(1) as f64 / span)
    }

    /// Seconds between the oldest and the latest transform; `None` if it is static.
    pub fn span(&self) -> Option<f64> {
        Some((self.latest? - self.oldest?).as_secs_f64())
    }
}

impl BufferCore {
    /// All frames, in the order in which they became known.
    pub fn frames(&self) -> Vec<FrameInfo> {
        let frames = self.names.all().zip(&self.frames);
        frames.map(|((_, name), frame)| self.info(name, frame)).collect()
    }

    /// What is known of a frame.
    pub fn frame(&self, name: &str) -> Option<FrameInfo> {
        let id = self.names.find(name)?;
        Some(self.info(name, self.frames.get(id.index())?))
    }

    fn info(&self, name: &str, frame: &Frame) -> FrameInfo {
        let history = frame.history.as_ref();
        let parent =
            history.and_then(History::latest).map(|sample| self.names.name(sample.parent).to_owned());
        FrameInfo {
            name: name.to_owned(),
            parent,
            authority: frame.authority.to_string(),
            is_static: history.is_some_and(History::is_static),
            transforms: history.map_or(0, History::len),
            oldest: history.and_then(History::oldest_stamp).map(Time::from_nanos),
            latest: history.and_then(History::latest_stamp).map(Time::from_nanos),
        }
    }
}
