//! The bag that is written.

use std::time::Duration;

use runnel::core::time::Instant;
use runnel_bag::{BagWriter, ChannelId, Error, Metadata, NewMessage};

use super::arrival::Content;
use super::bags::Written;
use super::channels::Channels;

/// How often a bag gets new losses at most: each record has all topics with losses.
const LOSS_PERIOD: Duration = Duration::from_secs(60);

/// What is safe since the last sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synced {
    Nothing,
    Messages,
    /// Also the losses until now.
    MessagesAndLoss,
}

/// The bag that is written.
pub struct OpenBag {
    /// Its writer.
    pub writer: Box<dyn BagWriter + Send>,
    /// By the channels of the recording.
    channels: Vec<Option<ChannelId>>,
    /// Log time of its first message, in nanoseconds since 1970.
    start: Option<u64>,
    /// Log time of its latest message, in nanoseconds since 1970.
    end: u64,
    /// Length of the messages of earlier bags that it begins with, which do not count as its own.
    repeated_len: u64,
    is_dirty: bool,
    /// The losses that it holds, and when it got them.
    loss: Option<(Metadata, Instant)>,
}

impl OpenBag {
    /// A bag without messages.
    pub fn new(writer: Box<dyn BagWriter + Send>) -> Self {
        Self {
            writer,
            channels: Vec::new(),
            start: None,
            end: 0,
            repeated_len: 0,
            is_dirty: false,
            loss: None,
        }
    }

    /// Log time of its first message of its own, in nanoseconds since 1970.
    pub fn start(&self) -> Option<u64> {
        self.start
    }

    /// Length without the messages that it repeats, in bytes.
    pub fn own_len(&self) -> u64 {
        self.writer.file_len().saturating_sub(self.repeated_len)
    }

    /// Its length and time so far.
    pub fn written(&self) -> Written {
        Written { len: self.writer.file_len(), end: self.end }
    }

    /// Writes a message of a channel of the recording.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&mut self, channel: usize, all: &Channels, content: Content<'_>) -> Result<(), Error> {
        let id = self.channel(channel, all)?;
        self.is_dirty = true;
        self.start.get_or_insert(content.log_time);
        self.end = self.end.max(content.log_time);
        let Content { log_time, publish_time, sequence, data } = content;
        self.writer.write(&NewMessage { channel: id, log_time, publish_time, sequence, data })
    }

    /// The messages so far are repeated from earlier bags.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn end_repeated(&mut self) -> Result<(), Error> {
        self.start = None;
        self.writer.flush()?;
        self.repeated_len = self.writer.file_len();
        Ok(())
    }

    /// Gives everything so far to the disk, from time to time with the losses until now, and waits until it is safe from a
    /// power failure.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn sync(&mut self, loss: Metadata, now: Instant) -> Result<Synced, Error> {
        let has_loss = self.update_loss(loss, now)?;
        if !std::mem::take(&mut self.is_dirty) && !has_loss {
            return Ok(Synced::Nothing);
        }
        self.writer.sync()?;
        Ok(if has_loss { Synced::MessagesAndLoss } else { Synced::Messages })
    }

    /// Writes the losses until now if they are new and due; whether the format can have them.
    fn update_loss(&mut self, loss: Metadata, now: Instant) -> Result<bool, Error> {
        let is_due = |(held, at): &(Metadata, Instant)| *held != loss && now.since(*at) >= LOSS_PERIOD;
        if loss.values.is_empty() || !self.loss.as_ref().is_none_or(is_due) {
            return Ok(false);
        }
        let is_written = self.writer.update_metadata(&loss)?;
        self.loss = Some((loss, now));
        Ok(is_written)
    }

    /// The id of a channel of the recording in this bag.
    fn channel(&mut self, channel: usize, all: &Channels) -> Result<ChannelId, Error> {
        if self.channels.len() <= channel {
            self.channels.resize(channel + 1, None);
        }
        if let Some(id) = self.channels[channel] {
            return Ok(id);
        }
        let id = self.writer.add_channel(&all.channels()[channel])?;
        self.channels[channel] = Some(id);
        Ok(id)
    }
}
