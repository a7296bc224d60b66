//! Publishes the messages of a bag when they are due.

use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

use runnel::core::time::{Instant, Time};
use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::{Context, Publisher};
use runnel_io::clock;

use super::lateness::Lateness;
use super::prefetch::{Next, Prefetch};
use super::publishers::Publishers;
use super::schedule::Schedule;
use crate::bag::inputs::{Found, Inputs, Wanted};
use crate::bag::keys::Keys;
use crate::error::CliError;
use crate::output;

/// How often keys are read.
const STEP: Duration = Duration::from_millis(20);

/// How often the progress is shown.
const REPORT_PERIOD: Duration = Duration::from_millis(500);

/// Most damaged parts and most refused messages that are logged.
const MOST_LOGGED: u64 = 5;

/// How a bag is played.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Seconds of the bag in a second.
    pub rate: f64,
    /// Whether messages are published without waiting until they are due.
    pub is_immediate: bool,
    /// Times without messages that are longer than this are left out.
    pub skip_empty: Option<Duration>,
    /// Messages on `/clock` in a second.
    pub clock: Option<f64>,
    /// Whether it begins paused.
    pub is_paused: bool,
}

/// The publishers of a bag, and the state of the playing.
pub struct Player {
    /// Its end ends the playing.
    context: Context,
    publishers: Publishers,
    pace: Pace,
    clocks: Vec<Publisher<Clock>>,
    next_clock: Instant,
    keys: Option<Keys>,
    shows_line: bool,
    reported: Option<Instant>,
    /// Times of the bag: from and to.
    range: (u64, u64),
    is_paused: bool,
    /// The next message is published although it is paused.
    steps: bool,
    /// How late messages were published that were waited for.
    pub lateness: Lateness,
    /// Published messages.
    pub published: u64,
    /// Messages that could not be published.
    pub refused: u64,
    /// Parts of the bags that could not be read.
    pub damaged: u64,
}

impl Player {
    /// Plays with these publishers until the context ends.
    pub fn new(
        context: &Context,
        publishers: Publishers,
        clocks: Vec<Publisher<Clock>>,
        pace: Pace,
        is_quiet: bool,
    ) -> Self {
        let shows_line = !is_quiet && io::stderr().is_terminal();
        Self {
            context: context.clone(),
            publishers,
            pace,
            clocks,
            next_clock: Instant::default(),
            keys: Keys::open().filter(|_| !is_quiet),
            shows_line,
            reported: None,
            range: (0, 0),
            is_paused: pace.is_paused,
            steps: false,
            lateness: Lateness::default(),
            published: 0,
            refused: 0,
            damaged: 0,
        }
    }

    /// False once the playing is ended.
    pub fn ok(&self) -> bool {
        self.context.ok()
    }

    /// The publishers.
    pub fn publishers(&self) -> &Publishers {
        &self.publishers
    }

    /// Publishes the last messages before the start that late subscribers would have got.
    pub fn publish_kept(&mut self, kept: &[Found]) {
        kept.iter().for_each(|found| self.publish(found));
    }

    /// Plays the messages of a range once. False if it was ended before.
    ///
    /// # Errors
    /// When `/clock` cannot be published.
    pub fn play(
        &mut self,
        inputs: &mut Inputs,
        wanted: &Wanted,
        range: (u64, u64),
    ) -> Result<bool, CliError> {
        self.range = range;
        let prefetch = Prefetch::default();
        thread::scope(|scope| {
            scope.spawn(|| prefetch.fill(inputs.messages(wanted)));
            let played = self.play_all(&prefetch);
            prefetch.close();
            played
        })
    }

    fn play_all(&mut self, prefetch: &Prefetch) -> Result<bool, CliError> {
        // The first message is read before time begins.
        let mut next = prefetch.next(STEP);
        while matches!(next, Next::Wait) && self.context.ok() {
            next = prefetch.next(STEP);
        }
        let mut schedule = Schedule::new(self.range.0, clock::monotonic(), self.pace.rate);
        if self.is_paused {
            schedule.toggle_pause(clock::monotonic());
        }
        let mut last = self.range.0;
        loop {
            match next {
                Next::Read(read) => match *read {
                    Ok(found) => {
                        if !self.play_one(&mut schedule, &found, last)? {
                            return Ok(false);
                        }
                        last = found.message.log_time;
                    }
                    Err((path, error)) => {
                        self.damaged += 1;
                        if self.damaged <= MOST_LOGGED {
                            log::warn!("{}: {error}", path.display());
                        }
                    }
                },
                Next::Wait => self.poll_keys_and_clock(&mut schedule)?,
                Next::End => return self.wait_until(&mut schedule, self.range.1, true),
            }
            if !self.context.ok() {
                return Ok(false);
            }
            next = prefetch.next(STEP);
        }
    }

    /// Publishes a message when it is due. False if the playing ended before.
    fn play_one(&mut self, schedule: &mut Schedule, found: &Found, last: u64) -> Result<bool, CliError> {
        let log_time = found.message.log_time;
        let gap = Duration::from_nanos(log_time.saturating_sub(last));
        if self.pace.skip_empty.is_some_and(|longest| gap > longest) {
            schedule.jump(log_time, clock::monotonic());
        }
        if !self.wait_until(schedule, log_time, false)? {
            return Ok(false);
        }
        let late = clock::monotonic().since(schedule.due(log_time));
        self.publish(found);
        if !self.pace.is_immediate && !schedule.is_paused() {
            self.lateness.add(late);
        }
        Ok(true)
    }

    /// Publishes a message now. A message that cannot be published is logged and left out.
    fn publish(&mut self, found: &Found) {
        match self.publishers.publish(found.channel, &found.message.data) {
            Ok(()) => self.published += 1,
            Err(error) => {
                self.refused += 1;
                if self.refused <= MOST_LOGGED {
                    log::warn!("a message is not played: {error}");
                }
            }
        }
    }

    /// Waits until a log time is due, and until a pause is over unless the message is stepped to. False if the playing ended
    /// before.
    fn wait_until(&mut self, schedule: &mut Schedule, log_time: u64, is_end: bool) -> Result<bool, CliError> {
        loop {
            self.poll_keys_and_clock(schedule)?;
            if !self.context.ok() {
                return Ok(false);
            }
            let now = clock::monotonic();
            if schedule.is_paused() {
                if std::mem::take(&mut self.steps) && !is_end {
                    schedule.jump(log_time, now);
                    return Ok(true);
                }
                self.sleep(now + STEP);
                continue;
            }
            let due = schedule.due(log_time);
            if self.pace.is_immediate || due <= now {
                return Ok(true);
            }
            self.sleep(due.min(now + STEP));
        }
    }

    /// Sleeps until a time, or until the next message on `/clock`.
    fn sleep(&self, until: Instant) {
        let until = if self.clocks.is_empty() { until } else { until.min(self.next_clock) };
        thread::sleep(until.since(clock::monotonic()));
    }

    /// Does what is to be done between messages: keys, `/clock` and the progress.
    fn poll_keys_and_clock(&mut self, schedule: &mut Schedule) -> Result<(), CliError> {
        let now = clock::monotonic();
        match self.keys.as_ref().and_then(Keys::pressed) {
            Some(b' ') => {
                schedule.toggle_pause(now);
                self.is_paused = schedule.is_paused();
                self.reported = None;
            }
            Some(b's') => self.steps = schedule.is_paused(),
            _ => {}
        }
        if let Some(rate) = self.pace.clock.filter(|_| now >= self.next_clock) {
            let nanos = i64::try_from(schedule.log_time(now)).unwrap_or(i64::MAX);
            for publisher in &self.clocks {
                publisher.publish(Clock { clock: Time::from_nanos(nanos) })?;
            }
            self.next_clock = now + Duration::from_secs_f64(1.0 / rate);
        }
        if self.shows_line && self.reported.is_none_or(|reported| now.since(reported) >= REPORT_PERIOD) {
            self.reported = Some(now);
            output::print_status(&self.line(schedule.log_time(now)));
        }
        Ok(())
    }

    fn line(&self, at: u64) -> String {
        let (start, end) = self.range;
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let [passed, all] =
            [at.clamp(start, end.max(start)), end].map(|time| seconds(time.saturating_sub(start)));
        let state = if self.is_paused { "paused" } else { "playing" };
        format!("{state} {passed:.1} s of {all:.1} s, {} messages", self.published)
    }

    /// Ends the line that shows the progress.
    pub fn end_line(&self) {
        if self.shows_line {
            output::end_status();
        }
    }
}
