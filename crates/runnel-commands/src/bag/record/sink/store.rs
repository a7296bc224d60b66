//! Where messages of known channels are stored: in the bags, or in snapshot mode in memory until a snapshot is requested.

use runnel::core::time::Instant;
use runnel_bag::Error;

use super::arrival::Content;
use super::bag_sequence::BagSequence;
use super::channels::Channels;
use super::end::{End, is_of_disk};
use super::limits::Limits;
use super::memory_ring::{MemoryRing, Remembered};
use super::open_bag::Synced;
use super::origin::Origin;
use super::topics::RecordedTopics;
use crate::error::CliError;

/// The stored messages, and what is counted of them.
pub struct Store {
    /// The topics.
    pub topics: RecordedTopics,
    /// The bags.
    pub bags: BagSequence,
    /// Why nothing more is stored.
    pub end: Option<End>,
    limits: Limits,
    memory: Option<MemoryRing>,
    /// Log time of the last message that was written, in nanoseconds since 1970.
    now: u64,
}

impl Store {
    /// Begins the first bag, except in snapshot mode.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(bags: BagSequence, limits: Limits, memory: Option<MemoryRing>) -> Result<Self, CliError> {
        let topics = RecordedTopics::default();
        let mut store = Self { topics, bags, end: None, limits, memory, now: 0 };
        if store.memory.is_none() {
            store.bags.begin(&Channels::default(), 0)?;
        }
        Ok(store)
    }

    /// When bags are full, and when the recording is complete.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Stores a message.
    pub fn store(&mut self, origin: Origin, content: Content<'_>, channels: &Channels) {
        let Some(memory) = &mut self.memory else { return self.write(&origin, content, channels) };
        let owned = if memory.fits(content.data.len()) { content.to_owned().ok() } else { None };
        match owned {
            Some(owned) => {
                memory.push(Remembered { origin, content: owned });
                self.forget_excess(content.log_time);
            }
            None => self.topics[origin.topic].counts.refused += 1,
        }
    }

    /// Gives everything so far to the disk, and waits until it is safe from a power failure.
    pub fn sync(&mut self, channels: &Channels, now: Instant) {
        if self.end.is_some() {
            return;
        }
        let reserved = self.bags.reserve_space();
        if self.end_if_failed(reserved)
            && self.bags.is_open()
            && let Err(why) = self.bags.check_space()
        {
            self.end = Some(End::Refused(why));
        }
        match self.bags.sync(self.topics.loss_until_now(), now) {
            Ok(Synced::Nothing) => {}
            Ok(Synced::Messages) => self.topics.mark_synced(),
            Ok(Synced::MessagesAndLoss) => {
                self.topics.mark_synced();
                self.topics.mark_loss_synced();
            }
            Err(error) => self.fail(&error, channels),
        }
    }

    /// Begins the next bag at `now`. False if there is none: in snapshot mode, or when the recording has ended.
    pub fn split(&mut self, channels: &Channels, now: u64) -> bool {
        if self.end.is_some() || self.memory.is_some() {
            return false;
        }
        match self.bags.write_end(&self.topics.loss()) {
            Ok(()) => {
                self.topics.end_bag();
                let begun = self.bags.follow(channels, now);
                self.end_if_failed(begun)
            }
            Err(error) => {
                self.fail(&error, channels);
                self.end.is_none()
            }
        }
    }

    /// Writes the messages in memory to a bag of their own, at `now`. False if there are none, or the recording has ended.
    pub fn snapshot(&mut self, channels: &Channels, now: u64) -> bool {
        if self.end.is_some() {
            return false;
        }
        self.forget_excess(now);
        let messages = self.memory.as_mut().map(MemoryRing::take).unwrap_or_default();
        let Some(start) = messages.iter().map(|one| one.content.view().log_time).min() else { return false };
        let bytes = messages.iter().map(|one| one.content.len() as u64).sum();
        let reserved = self.bags.reserve_space_for(bytes).and_then(|()| self.bags.check_space());
        let begun = reserved.and_then(|()| self.bags.begin(channels, start));
        self.end_if_failed(begun);
        for Remembered { origin, content } in messages {
            if self.end.is_none() {
                self.write(&origin, content.view(), channels);
            }
        }
        if self.end.is_some() {
            return false;
        }
        let completed = self.bags.complete(&self.topics.loss());
        let goes_on = self.end_if_failed(completed);
        if goes_on {
            self.topics.end_bag();
        }
        goes_on
    }

    /// Completes the last bag.
    ///
    /// # Errors
    /// Why the recording has ended, and when something could not be written.
    pub fn finish(&mut self, end: Option<End>) -> Result<(), CliError> {
        match (end, self.end.take()) {
            (Some(End::Failed(error)), _) | (_, Some(End::Failed(error))) => {
                self.bags.leave_unfinished();
                Err(error)
            }
            (Some(End::Refused(error)), _) | (_, Some(End::Refused(error))) => {
                self.bags.finish(&self.topics.loss()).and(Err(error))
            }
            _ => self.bags.finish(&self.topics.loss()),
        }
    }

    /// Forgets what is too old for a snapshot at `now`. It still counts for what a snapshot begins with.
    fn forget_excess(&mut self, now: u64) {
        let Some(memory) = &mut self.memory else { return };
        while let Some(Remembered { origin, content }) = memory.pop_excess(now) {
            let repeated = self.topics[origin.topic].repeated;
            self.bags.keep(&origin, repeated, content.view());
        }
    }

    fn write(&mut self, origin: &Origin, content: Content<'_>, channels: &Channels) {
        let topic = &mut self.topics[origin.topic];
        if topic.is_complete() {
            return;
        }
        self.now = content.log_time;
        self.bags.keep(origin, topic.repeated, content);
        match self.bags.write(origin.channel, channels, content) {
            Ok(()) => {
                topic.count_written(content.data.len());
                self.check_limits(channels, content.log_time);
            }
            // The bag goes on without this message.
            Err(Error::TooLong { .. }) => topic.counts.refused += 1,
            Err(error) => {
                topic.counts.refused += 1;
                self.fail(&error, channels);
            }
        }
    }

    fn check_limits(&mut self, channels: &Channels, now: u64) {
        let is_full = self.bags.is_full(&self.limits, now);
        if is_full && !self.limits.split {
            self.end = Some(End::Limit);
        } else if is_full {
            self.split(channels, now);
        }
        if self.limits.messages.is_some() && self.topics.are_complete() {
            self.end.get_or_insert(End::Limit);
        }
    }

    /// The bag cannot be continued. Either the next one follows, or the recording ends.
    fn fail(&mut self, error: &Error, channels: &Channels) {
        if !is_of_disk(error) {
            self.end = Some(End::Refused(self.bags.failed(error)));
            return;
        }
        let replaced = self.bags.replace_failed(error, channels, self.now);
        if self.end_if_failed(replaced) {
            self.topics.end_failed_bag();
            for (topic, len) in self.bags.unsynced_repeated() {
                self.topics[topic].count_rescued(len);
            }
        }
    }

    /// Whether the recording goes on.
    fn end_if_failed(&mut self, done: Result<(), CliError>) -> bool {
        if let Err(why) = done {
            self.end = Some(End::Failed(why));
        }
        self.end.is_none()
    }
}
