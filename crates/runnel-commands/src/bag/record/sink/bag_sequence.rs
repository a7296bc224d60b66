//! The bags of a recording, one after another, and what each later one begins with.

use std::path::PathBuf;

use runnel::core::time::Instant;
use runnel_bag::{Error, Metadata};

use super::arrival::{Content, OwnedContent};
use super::bags::Bags;
use super::channels::Channels;
use super::end::is_disk_full;
use super::free_space::FreeSpace;
use super::latched::{Latched, latched};
use super::limits::Limits;
use super::open_bag::{OpenBag, Synced};
use super::origin::Origin;
use crate::error::CliError;

/// One bag followed another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// File of the complete one.
    pub closed: PathBuf,
    /// File of the next one.
    pub opened: PathBuf,
}

/// The bags of a recording.
pub struct BagSequence {
    bags: Box<dyn Bags>,
    open: Option<OpenBag>,
    free_space: FreeSpace,
    /// What each later bag begins with: messages that late subscribers would get.
    repeated: Latched<Repeated>,
    /// How many messages were kept for later bags until now, and until the last sync.
    kept: u64,
    synced_kept: u64,
    splits: Vec<Split>,
    /// Length of bags that are not open any more, in bytes.
    closed_len: u64,
    /// Length of all at the last sync, in bytes.
    synced_len: u64,
}

#[derive(Debug)]
struct Repeated {
    channel: usize,
    content: OwnedContent,
    /// How many were kept before it.
    number: u64,
}

impl BagSequence {
    /// Begins with no bag.
    pub fn new(bags: Box<dyn Bags>, free_space: FreeSpace) -> Self {
        Self {
            bags,
            open: None,
            free_space,
            repeated: latched(),
            kept: 0,
            synced_kept: 0,
            splits: Vec::new(),
            closed_len: 0,
            synced_len: 0,
        }
    }

    /// Begins a bag, with the messages that late subscribers would get, as received at `now`.
    ///
    /// # Errors
    /// When it cannot be created or written.
    pub fn begin(&mut self, channels: &Channels, now: u64) -> Result<(), CliError> {
        let Err(error) = self.try_begin(channels, now)? else { return Ok(()) };
        let why = self.bags.failed(&error);
        let begun =
            if self.give_up_open(&error)? { self.try_begin(channels, now)? } else { return Err(why) };
        begun.map_err(|error| self.bags.failed(&error))
    }

    /// The same. The inner result is that of writing.
    fn try_begin(&mut self, channels: &Channels, now: u64) -> Result<Result<(), Error>, CliError> {
        let mut bag = OpenBag::new(self.bags.begin(channels.channels())?);
        let written = self.repeated.messages().try_for_each(|(_, Repeated { channel, content, .. })| {
            bag.write(*channel, channels, content.view().at(now))
        });
        let written = written.and_then(|()| bag.end_repeated());
        self.open = Some(bag);
        Ok(written)
    }

    /// Writes a message. Without an open bag, nothing is written.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&mut self, channel: usize, channels: &Channels, content: Content<'_>) -> Result<(), Error> {
        self.open.as_mut().map_or(Ok(()), |bag| bag.write(channel, channels, content))
    }

    /// Keeps a message for later bags, if late subscribers would get it, as one of the last `depth` of its publisher.
    pub fn keep(&mut self, origin: &Origin, depth: usize, content: Content<'_>) {
        let Some(publisher) = &origin.latched_by else { return };
        let (channel, number) = (origin.channel, self.kept);
        self.kept += 1;
        self.repeated.keep((origin.topic, publisher.clone()), depth, content.data.len(), || {
            Ok(Repeated { channel, content: content.to_owned()?, number })
        });
    }

    /// Whether the open bag is full at `now`.
    pub fn is_full(&self, limits: &Limits, now: u64) -> bool {
        self.open.as_ref().is_some_and(|bag| limits.is_full(bag.own_len(), bag.start(), now))
    }

    /// Gives everything so far to the disk, with the losses until now.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn sync(&mut self, loss: Metadata, now: Instant) -> Result<Synced, Error> {
        self.synced_len = self.len();
        let synced = self.open.as_mut().map_or(Ok(Synced::Nothing), |bag| bag.sync(loss, now))?;
        self.synced_kept = self.kept;
        Ok(synced)
    }

    /// What the open bag repeats although no earlier bag has it safely: the topics and the lengths of the messages.
    pub fn unsynced_repeated(&self) -> Vec<(usize, usize)> {
        let kept = self.repeated.messages().filter(|(_, repeated)| repeated.number >= self.synced_kept);
        kept.map(|((topic, _), repeated)| (*topic, repeated.content.len())).collect()
    }

    /// Completes the open bag, with these metadata.
    ///
    /// # Errors
    /// When something could not be written: the bag cannot be continued.
    pub fn complete(&mut self, metadata: &Metadata) -> Result<(), CliError> {
        self.write_end(metadata).map_err(|error| self.bags.failed(&error))?;
        self.close()
    }

    /// Writes the end of the open bag, with these metadata.
    ///
    /// # Errors
    /// Those of the writer, after which the bag cannot be continued.
    pub fn write_end(&mut self, metadata: &Metadata) -> Result<(), Error> {
        let Some(bag) = &mut self.open else { return Ok(()) };
        bag.writer.add_metadata(metadata)?;
        bag.writer.finish()
    }

    /// Begins the next bag at `now`, once the end of the open one is written.
    ///
    /// # Errors
    /// Those of [`BagSequence::begin`], and when the complete one cannot get its name.
    pub fn follow(&mut self, channels: &Channels, now: u64) -> Result<(), CliError> {
        self.close()?;
        let closed = self.bags.files().pop();
        self.begin(channels, now)?;
        if let Some((closed, opened)) = closed.zip(self.bags.files().pop()) {
            self.splits.push(Split { closed, opened });
        }
        Ok(())
    }

    /// The open bag is complete.
    fn close(&mut self) -> Result<(), CliError> {
        let Some(bag) = self.open.take() else { return Ok(()) };
        let written = bag.written();
        self.closed_len += written.len;
        drop(bag);
        self.bags.complete(written)?;
        // The complete bag has all of them.
        self.synced_kept = self.kept;
        Ok(())
    }

    /// Gives up the bag that cannot be continued, and begins the next one, if the disk is full and has older bags that may
    /// be removed.
    ///
    /// # Errors
    /// Why the recording cannot go on.
    pub fn replace_failed(&mut self, error: &Error, channels: &Channels, now: u64) -> Result<(), CliError> {
        let why = self.bags.failed(error);
        let closed = self.bags.files().pop();
        if !self.give_up_open(error)? {
            return Err(why);
        }
        self.begin(channels, now)?;
        if let Some((closed, opened)) = closed.zip(self.bags.files().pop()) {
            self.splits.push(Split { closed, opened });
        }
        Ok(())
    }

    /// Gives up the bag that cannot be continued. Whether there is space for another one: the disk was full, and older bags
    /// could be removed.
    fn give_up_open(&mut self, error: &Error) -> Result<bool, CliError> {
        let written = self.open.take().map(|bag| bag.written()).unwrap_or_default();
        self.closed_len += written.len;
        if !is_disk_full(error) {
            return Ok(false);
        }
        let unsynced = self.unsynced_len();
        let has_space = self.free_space.make(&mut *self.bags, unsynced, 1)?;
        if has_space {
            self.bags.abandon(written);
        }
        Ok(has_space)
    }

    /// Removes the oldest bags before the open one fills the disk, if that is what is done.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn reserve_space(&mut self) -> Result<(), CliError> {
        if self.open.is_some() { self.reserve_space_for(0) } else { Ok(()) }
    }

    /// The same for a bag that is to be begun, which gets this many bytes at once.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn reserve_space_for(&mut self, bytes: u64) -> Result<(), CliError> {
        let unsynced = self.unsynced_len();
        self.free_space.reserve(&mut *self.bags, unsynced, bytes)
    }

    /// Whether a bag is being written.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Checks that as much is free on the disk as has to stay so.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_space(&self) -> Result<(), CliError> {
        self.free_space.check(&*self.bags)
    }

    /// Length of all bags, in bytes.
    pub fn len(&self) -> u64 {
        self.closed_len + self.open.as_ref().map_or(0, |bag| bag.writer.file_len())
    }

    /// The files of all bags that are kept, in their order.
    pub fn files(&self) -> Vec<PathBuf> {
        self.bags.files()
    }

    /// The error of the open bag, with its name.
    pub fn failed(&self, error: &Error) -> CliError {
        self.bags.failed(error)
    }

    /// The splits since the last call.
    pub fn take_splits(&mut self) -> Vec<Split> {
        std::mem::take(&mut self.splits)
    }

    /// The recording is complete, with these metadata of its last bag.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(&mut self, metadata: &Metadata) -> Result<(), CliError> {
        self.complete(metadata)?;
        self.bags.finish()
    }

    /// The bag that is open cannot be completed.
    pub fn leave_unfinished(&mut self) {
        self.open = None;
    }

    /// What was written since the last sync, in bytes.
    fn unsynced_len(&self) -> u64 {
        self.len().saturating_sub(self.synced_len)
    }
}
