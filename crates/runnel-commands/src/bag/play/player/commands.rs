//! Commands of keys and services.

use runnel::core::time::Instant;
use runnel_io::clock;

use super::Player;
use crate::bag::play::control::Command;

impl Player {
    pub(super) fn execute(&mut self, command: Command, now: Instant, is_playing: bool) {
        match command {
            Command::SetPaused(wanted, reply) => reply(self.set_paused(wanted, now)),
            Command::TogglePause(reply) => {
                self.set_paused(!self.schedule.is_paused(), now);
                reply(());
            }
            Command::IsPaused(reply) => reply(self.schedule.is_paused()),
            Command::Rate(reply) => reply(self.schedule.rate()),
            Command::SetRate(rate, reply) => reply(self.set_rate(rate, now)),
            Command::ChangeRate(by) => _ = self.set_rate(self.schedule.rate() + by, now),
            Command::Burst(count, reply) => match self.schedule.is_paused() && is_playing {
                true => self.stepping.add(count, reply),
                false => reply(0),
            },
            Command::Seek(log_time, reply) => {
                let is_in_range = is_playing && log_time <= self.range.1;
                if is_in_range {
                    self.seek(log_time);
                }
                reply(is_in_range);
            }
            Command::Play(again, reply) if !is_playing && self.again.is_none() => {
                self.again = Some((again, reply));
            }
            Command::Play(_, reply) => reply(false),
            Command::Stop(reply) => {
                self.is_stopped = true;
                reply(());
            }
            Command::Wake => {}
        }
    }

    /// Whether that is a change.
    pub(super) fn set_paused(&mut self, wanted: bool, now: Instant) -> bool {
        let is_changed = self.schedule.is_paused() != wanted;
        if is_changed {
            self.schedule.toggle_pause(now);
            self.stepping.finish();
            self.progress.refresh();
        }
        is_changed
    }

    /// Whether the rate is valid.
    fn set_rate(&mut self, rate: f64, now: Instant) -> bool {
        // The steps of keys add up to almost zero.
        let is_valid = rate.is_finite() && rate > 1e-9;
        if is_valid {
            self.schedule.set_rate(rate, now);
            self.progress.refresh();
        }
        is_valid
    }

    /// Continues at a log time, not before the start of the range. The earlier messages that late subscribers would receive
    /// come first.
    pub(super) fn seek(&mut self, log_time: u64) {
        let start = log_time.max(self.range.0);
        let kept = self.cursor.kept_before(&self.kept, start, || self.context.ok());
        kept.iter().for_each(|found| _ = self.delivery.publish(found));
        self.cursor.seek((start, self.range.1));
        self.last = start;
        self.has_paused = false;
        self.stepping.finish();
        self.rate_control.iter().for_each(|control| control.begin_at(start));
        self.read_splits.iter_mut().for_each(|splits| splits.seek(start));
        self.schedule.jump(start, clock::monotonic());
        self.clocks.seek();
        self.progress.refresh();
    }
}
