//! Commands to the player: from keys, and from requests of services.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use runnel::core::time::Instant;
use runnel_io::clock;

use crate::bag::keys::{Key, Keys};

/// Most commands that wait for the player: clients can send any number.
const MOST_COMMANDS: usize = 64;

/// How often keys are read.
const KEY_PERIOD: Duration = Duration::from_millis(20);

/// How much a key changes the rate, as in ros2 bag.
const RATE_STEP: f64 = 0.1;

/// Receives the result of a command.
pub type Reply<T> = Box<dyn FnOnce(T) + Send>;

/// A command to the player.
pub enum Command {
    /// Pauses, or resumes. Replies whether that was a change.
    SetPaused(bool, Reply<bool>),
    TogglePause(Reply<()>),
    IsPaused(Reply<bool>),
    Rate(Reply<f64>),
    /// Replies whether the rate is valid.
    SetRate(f64, Reply<bool>),
    /// Adds to the rate.
    ChangeRate(f64),
    /// Publishes this many messages while paused, all that remain if it is `None`. Replies how many were published.
    Burst(Option<u64>, Reply<u64>),
    /// Continues at this log time. Replies whether it is in the range that is played.
    Seek(u64, Reply<bool>),
    /// Plays again after the end. Replies false while it is playing.
    Play(PlayRange, Reply<bool>),
    Stop(Reply<()>),
    /// Ends the player's sleep, because something that it waits for has changed.
    Wake,
}

/// The part of a bag to play again, as in `rosbag2_interfaces/srv/Play`. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlayRange {
    /// Offset from the start of the bag.
    pub start: u64,
    /// Length of the part, if it is limited.
    pub duration: Option<u64>,
    /// Log time of the end, if it is limited.
    pub until: Option<u64>,
}

/// Sends commands to the player, from any thread.
#[derive(Clone)]
pub struct Remote(SyncSender<Command>);

/// The commands of keys and services.
pub struct Controls {
    keys: Option<Keys>,
    next_keys: Instant,
    remote: Remote,
    commands: Receiver<Command>,
    /// The command that ended a wait.
    received: Option<Command>,
}

impl Remote {
    /// Sends a command. If too many commands wait, or the player has ended, it is dropped with its reply.
    pub fn send(&self, command: Command) {
        if self.0.try_send(command).is_err() {
            log::debug!("a command is dropped: too many wait, or the player ends");
        }
    }
}

impl Controls {
    /// Takes commands from services, and from these keys.
    pub fn new(keys: Option<Keys>) -> Self {
        let (sender, commands) = mpsc::sync_channel(MOST_COMMANDS);
        Self { keys, next_keys: Instant::default(), remote: Remote(sender), commands, received: None }
    }

    /// A sender of commands to this player.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// The next command, if there is one.
    pub fn next(&mut self, now: Instant) -> Option<Command> {
        if let Some(command) = self.received.take().or_else(|| self.commands.try_recv().ok()) {
            return Some(command);
        }
        if now < self.next_keys {
            return None;
        }
        let key = self.keys.as_ref().and_then(Keys::pressed);
        // More keys may have been pressed.
        self.next_keys = if key.is_some() { now } else { now + KEY_PERIOD };
        key.and_then(command_of)
    }

    /// Sleeps until a time or a command, and at most until keys are read again.
    pub fn sleep(&mut self, until: Instant) {
        let until = if self.keys.is_some() { until.min(self.next_keys) } else { until };
        let time = until.since(clock::monotonic());
        if time.is_zero() {
            return;
        }
        match self.commands.recv_timeout(time) {
            Ok(command) => self.received = Some(command),
            Err(RecvTimeoutError::Timeout) => {}
            // It has a sender itself, so this does not happen.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(time),
        }
    }
}

/// The command of a key, as in `rosbag play` and `ros2 bag play`.
fn command_of(key: Key) -> Option<Command> {
    Some(match key {
        Key::Char(b' ') => Command::TogglePause(Box::new(|()| {})),
        Key::Char(b's') | Key::Right => Command::Burst(Some(1), Box::new(|_| {})),
        Key::Up => Command::ChangeRate(RATE_STEP),
        Key::Down => Command::ChangeRate(-RATE_STEP),
        Key::Char(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_wait_are_bounded() {
        let mut controls = Controls::new(None);
        let remote = controls.remote();
        (0..2 * MOST_COMMANDS).for_each(|_| remote.send(Command::ChangeRate(0.1)));
        let now = clock::monotonic();
        assert_eq!(std::iter::from_fn(|| controls.next(now)).count(), MOST_COMMANDS);
    }

    #[test]
    fn command_ends_the_sleep() {
        let mut controls = Controls::new(None);
        let (remote, begin) = (controls.remote(), clock::monotonic());
        thread::spawn(move || remote.send(Command::SetRate(2.0, Box::new(|_| {}))));
        controls.sleep(begin + Duration::from_secs(600));
        assert!(clock::monotonic().since(begin) < Duration::from_secs(300), "it did not wait for the time");
        assert!(matches!(controls.next(begin), Some(Command::SetRate(_, _))));
    }
}
