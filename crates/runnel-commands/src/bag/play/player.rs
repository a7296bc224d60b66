//! Publishes the messages of a bag when they are due, and executes the commands of keys and services.

mod commands;
mod delivery;
mod parts;

use std::time::Duration;

use runnel::Context;
use runnel::core::time::Instant;
use runnel_io::clock;

use super::clocks::Clocks;
use super::control::{Controls, PlayRange, Reply};
use super::cursor::{Cursor, Head};
use super::kept::KeptChannels;
use super::lateness::Lateness;
use super::progress::ProgressLine;
use super::rate_control::RateControl;
use super::read_splits::ReadSplits;
use super::schedule::Schedule;
use super::stepping::Stepping;
use crate::bag::inputs::Found;
use crate::error::CliError;
pub use delivery::Delivery;
pub use parts::{Pace, PlayerParts};

/// Longest wait before the end of the context is noticed.
const STEP: Duration = Duration::from_millis(20);

/// The publishers of a bag, and the state of the playing.
pub struct Player {
    /// Its end ends the playing.
    context: Context,
    delivery: Delivery,
    clocks: Clocks,
    controls: Controls,
    cursor: Cursor,
    kept: KeptChannels,
    pauses: Vec<bool>,
    /// The player has paused before the next message.
    has_paused: bool,
    pace: Pace,
    schedule: Schedule,
    stepping: Stepping,
    rate_control: Option<RateControl>,
    read_splits: Option<ReadSplits>,
    /// Log times of the bag: from and to.
    range: (u64, u64),
    /// Log time of the message before.
    last: u64,
    is_stopped: bool,
    /// What is to be played after the end.
    again: Option<(PlayRange, Reply<bool>)>,
    progress: ProgressLine,
    /// How late messages were published that were waited for.
    pub lateness: Lateness,
}

impl Player {
    /// A player of a range of log times. It plays until the context ends.
    pub fn new(context: &Context, parts: PlayerParts, pace: Pace, range: (u64, u64)) -> Self {
        let PlayerParts { publishers, clocks, controls, source, kept, pauses, .. } = parts;
        let PlayerParts { progress, rate_control, read_splits, .. } = parts;
        let now = clock::monotonic();
        let mut schedule = Schedule::new(range.0, now, pace.rate);
        if pace.is_paused {
            schedule.toggle_pause(now);
        }
        Self {
            context: context.clone(),
            cursor: Cursor::new(source, publishers.channels()),
            delivery: Delivery::new(publishers),
            clocks,
            controls,
            kept,
            pauses,
            has_paused: false,
            pace,
            schedule,
            stepping: Stepping::default(),
            rate_control,
            read_splits,
            range,
            last: range.0,
            is_stopped: false,
            again: None,
            progress,
            lateness: Lateness::default(),
        }
    }

    /// False once the playing is ended by a signal or a service.
    pub fn ok(&self) -> bool {
        self.context.ok() && !self.is_stopped
    }

    /// Parts of the bags that could not be read.
    pub fn damaged(&self) -> u64 {
        self.cursor.damage.count()
    }

    /// The publishers, and the numbers of messages.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// Goes to the start of the range.
    pub fn begin(&mut self) {
        self.seek(self.range.0);
    }

    /// Publishes this many messages at once, and pauses; all of them if it is `None`.
    pub fn burst(&mut self, count: Option<u64>) {
        self.stepping.add(count, Box::new(|_| {}));
    }

    /// Goes to the start of another range.
    pub fn restart(&mut self, range: (u64, u64)) {
        self.range = range;
        self.begin();
    }

    /// Plays until the end of the range. False if it was ended before.
    ///
    /// # Errors
    /// When `/clock` cannot be published, or no message on the rate control topic can be read.
    pub fn play(&mut self) -> Result<bool, CliError> {
        // The first message is read before time begins.
        while matches!(self.cursor.head, Head::Unread) && self.ok() {
            self.cursor.read(STEP);
        }
        self.schedule.jump(self.range.0, clock::monotonic());
        while self.ok() {
            self.poll(true)?;
            if self.is_at_end() {
                self.stepping.finish();
                return Ok(true);
            }
            self.advance()?;
        }
        self.stepping.finish();
        Ok(false)
    }

    /// Waits after the end for a request to play again. `None` if it was ended meanwhile.
    ///
    /// # Errors
    /// When `/clock` cannot be published.
    pub fn wait_for_request(&mut self) -> Result<Option<(PlayRange, Reply<bool>)>, CliError> {
        while self.ok() {
            self.poll(false)?;
            if let Some(again) = self.again.take() {
                return Ok(Some(again));
            }
            self.sleep(clock::monotonic() + STEP);
        }
        Ok(None)
    }

    /// Whether the range is over, and not paused at its end.
    fn is_at_end(&self) -> bool {
        let is_due = || self.schedule.due(self.range.1) <= clock::monotonic();
        matches!(self.cursor.head, Head::End)
            && !self.schedule.is_paused()
            && (self.pace.is_immediate || is_due())
    }

    /// Publishes the next message if it is due, or waits for a short time.
    fn advance(&mut self) -> Result<(), CliError> {
        let now = clock::monotonic();
        match self.cursor.take() {
            Head::Unread => self.cursor.read(STEP),
            Head::Message(found) => {
                if !self.is_due(&found, now) {
                    let due = self.schedule.due(found.message.log_time);
                    self.cursor.head = Head::Message(found);
                    let is_waiting = self.schedule.is_paused() || due <= now;
                    self.sleep(if is_waiting { now + STEP } else { due.min(now + STEP) });
                    return Ok(());
                }
                self.play_one(&found)?;
            }
            Head::End => {
                self.cursor.head = Head::End;
                self.stepping.finish();
                if !self.schedule.is_paused() {
                    self.skip_gap(self.range.1, now);
                }
                let due = self.schedule.due(self.range.1);
                self.sleep(if self.schedule.is_paused() { now + STEP } else { due.min(now + STEP) });
            }
        }
        Ok(())
    }

    fn is_due(&mut self, found: &Found, now: Instant) -> bool {
        let log_time = found.message.log_time;
        if self.schedule.is_paused() {
            return self.stepping.is_active();
        }
        self.skip_gap(log_time, now);
        if !self.pace.is_immediate && self.schedule.due(log_time) > now {
            return false;
        }
        if self.rate_control.as_ref().is_some_and(|control| control.delays(log_time)) {
            // The time of the bag stands still.
            self.schedule.jump(log_time, now);
            self.progress.set_delayed(true);
            return false;
        }
        self.progress.set_delayed(false);
        if self.pauses.get(found.channel) == Some(&true) && !self.has_paused {
            self.has_paused = true;
            self.set_paused(true, now);
            return false;
        }
        true
    }

    /// The log time of the next message, if it waits for the rate control topic.
    fn held(&self) -> Option<u64> {
        let (Some(control), Head::Message(found)) = (&self.rate_control, &self.cursor.head) else {
            return None;
        };
        Some(found.message.log_time).filter(|log_time| control.delays(*log_time))
    }

    /// Goes to a log time at once if the time without messages before it is to be left out.
    fn skip_gap(&mut self, log_time: u64, now: Instant) {
        let gap = Duration::from_nanos(log_time.saturating_sub(self.last));
        if self.pace.skip_empty.is_some_and(|longest| gap > longest) {
            self.schedule.jump(log_time, now);
            self.last = log_time;
        }
    }

    fn play_one(&mut self, found: &Found) -> Result<(), CliError> {
        let (log_time, now) = (found.message.log_time, clock::monotonic());
        let is_paused = self.schedule.is_paused();
        if is_paused {
            self.schedule.jump(log_time, now);
        }
        let late = now.since(self.schedule.due(log_time));
        self.clocks.publish_before(found.channel, log_time)?;
        self.read_splits.iter_mut().for_each(|splits| splits.reach(log_time));
        let is_published = self.delivery.publish(found);
        match is_paused {
            true if is_published => self.stepping.published(),
            true => {}
            false if self.pace.is_immediate => {}
            false => self.lateness.add(late),
        }
        self.last = log_time;
        self.has_paused = false;
        Ok(())
    }

    /// Sleeps until a time, or until the next message on `/clock`, or a command.
    fn sleep(&mut self, until: Instant) {
        let until = self.clocks.next().map_or(until, |next| next.min(until));
        self.controls.sleep(until);
    }

    /// Does what is to be done between messages: commands, `/clock` and the progress.
    fn poll(&mut self, is_playing: bool) -> Result<(), CliError> {
        let now = clock::monotonic();
        self.rate_control.as_ref().map_or(Ok(()), RateControl::check)?;
        while let Some(command) = self.controls.next(now) {
            self.execute(command, now, is_playing);
        }
        // Without pace, the time of the bag is that of its last message.
        let log_time = if self.pace.is_immediate { self.last } else { self.schedule.log_time(now) };
        // The schedule is set back to a message that waits only now and then.
        let latest = self.held().map_or(self.range.1, |held| held.min(self.range.1));
        self.clocks.publish_regularly(now, log_time.min(latest))?;
        self.progress.show(now, &self.schedule, self.range, self.delivery.published);
        Ok(())
    }

    /// Ends the line that shows the progress.
    pub fn end_line(&self) {
        self.progress.end();
    }
}
