//! The bag that is written.

use runnel_bag::{BagWriter, ChannelId, Error, Metadata, NewMessage};

use super::arrival::Content;
use super::bags::Written;
use super::channels::Channels;

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
    /// The losses that it holds.
    loss: Metadata,
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
            loss: Metadata::default(),
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

    /// Gives everything so far to the disk, with the losses until now, and waits until it is safe from a power failure.
    /// False if nothing was written since the last time.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn sync(&mut self, loss: Metadata) -> Result<bool, Error> {
        if !loss.values.is_empty() && loss != self.loss {
            self.is_dirty |= self.writer.update_metadata(&loss)?;
            self.loss = loss;
        }
        if !std::mem::take(&mut self.is_dirty) {
            return Ok(false);
        }
        self.writer.sync()?;
        Ok(true)
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
