//! Child processes of tests. Each leads its own process group, its output is captured by line, waits have deadlines,
//! and the group is killed when the test ends.

mod error;
mod ports;
mod stopped;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, kill_process_group, pidfd_open};

pub use error::{PeerError, PeerErrorKind};
pub use ports::free_port;
pub use rustix::process::Signal;

/// Lines kept of a peer's output. The oldest are dropped and counted, and an access to dropped lines is an error.
const LINES_KEPT: usize = 100_000;
/// Longest line, in bytes; a longer one is split.
const LINE_BYTES: u64 = 1 << 16;
/// Lines shown in an error.
const LINES_SHOWN: usize = 100;
/// Time for a peer's last output to arrive after its end. Only a process that has left the group and lives on takes it all.
const OUTPUT_DRAIN: Duration = Duration::from_secs(30);

/// The deadline `seconds` seconds from now.
pub fn deadline_in(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

/// A running child process and its output.
///
/// The child leads a process group. Dropping the peer kills that group (SIGKILL), except processes that left it by
/// `setsid`.
pub struct Peer {
    name: String,
    child: Child,
    group: Pid,
    status: Option<ExitStatus>,
    output: Arc<Output>,
    /// Number of the first line that `wait_for_line` has not examined.
    unread: u64,
}

impl Peer {
    /// Starts `command` without input and with captured output. `name` identifies it in errors.
    ///
    /// # Errors
    /// [`PeerErrorKind::NotStarted`] when the program is missing or cannot run.
    pub fn spawn(name: &str, mut command: Command) -> Result<Peer, PeerError> {
        use std::os::unix::process::CommandExt;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| PeerError {
            name: name.to_owned(),
            kind: PeerErrorKind::NotStarted { program: command.get_program().display().to_string(), error },
            output: String::new(),
        })?;
        let output = Arc::new(Output::default());
        output.capture("out", child.stdout.take());
        output.capture("err", child.stderr.take());
        let group = Pid::from_child(&child);
        Ok(Peer { name: name.to_owned(), child, group, status: None, output, unread: 0 })
    }

    /// The name given at the start.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id, which is also the group id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// All captured output, one line each, marked with its stream.
    pub fn output(&self) -> String {
        self.output.state().show(LINES_KEPT)
    }

    /// The captured lines of both streams, without marks.
    ///
    /// # Panics
    /// If lines were dropped: their absence from the result would prove nothing.
    pub fn lines(&self) -> Vec<String> {
        let state = self.output.state();
        assert_eq!(
            state.lost, 0,
            "peer {}: lines were dropped, since only the last {LINES_KEPT} are kept",
            self.name
        );
        state.lines.iter().map(|line| line.text.clone()).collect()
    }

    /// Waits for a line of either stream that `wanted` accepts, and returns it. The next call continues after that
    /// line.
    ///
    /// # Errors
    /// [`PeerErrorKind::TooLate`] at the deadline. [`PeerErrorKind::Silent`] when both streams are closed without
    /// such a line. [`PeerErrorKind::Missed`] if lines were dropped that no call has examined.
    pub fn wait_for_line(
        &mut self,
        mut wanted: impl FnMut(&str) -> bool,
        deadline: Instant,
    ) -> Result<String, PeerError> {
        let output = Arc::clone(&self.output);
        let mut state = output.state();
        loop {
            if let Some(missed) = state.lost.checked_sub(self.unread).filter(|missed| *missed > 0) {
                return Err(self.error(PeerErrorKind::Missed(missed), &state));
            }
            if let Some(line) = state.next_match(&mut self.unread, &mut wanted) {
                return Ok(line);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match (state.open, left) {
                (0, _) => return Err(self.error(PeerErrorKind::Silent, &state)),
                (_, Duration::ZERO) => return Err(self.error(PeerErrorKind::TooLate("a line"), &state)),
                _ => state = output.wait(state, left),
            }
        }
    }

    /// Waits for the process to exit, and returns its status; the rest of its group is killed.
    ///
    /// # Errors
    /// [`PeerErrorKind::TooLate`] when it still runs at the deadline.
    pub fn wait_exit(&mut self, deadline: Instant) -> Result<ExitStatus, PeerError> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        if !self.ended_by(deadline).map_err(|error| self.system_error(error))? {
            return Err(self.error(PeerErrorKind::TooLate("its end"), &self.output.state()));
        }
        let status = self.reap().map_err(|error| self.system_error(error))?;
        self.output.wait_until_closed(Instant::now() + OUTPUT_DRAIN);
        Ok(status)
    }

    /// Sends a signal to the process and its group, as a terminal does for Ctrl-C.
    ///
    /// # Errors
    /// [`PeerErrorKind::System`] when the process has ended.
    pub fn signal(&self, signal: Signal) -> Result<(), PeerError> {
        if self.status.is_some() {
            return Err(self.system_error(rustix::io::Errno::SRCH.into()));
        }
        kill_process_group(self.group, signal).map_err(|error| self.system_error(error.into()))
    }

    /// Stops the process and its group (SIGSTOP), as [`Peer::wait_until_stopped`] describes.
    ///
    /// # Errors
    /// [`PeerErrorKind::System`] when the process has ended, [`PeerErrorKind::TooLate`] at the deadline.
    pub fn stop(&self, deadline: Instant) -> Result<(), PeerError> {
        self.signal(Signal::STOP)?;
        self.wait_until_stopped(deadline)
    }

    /// Waits until every thread of the process and its group is stopped. After SIGSTOP, other threads run on until
    /// the one that takes the signal has run.
    ///
    /// # Errors
    /// [`PeerErrorKind::TooLate`] at the deadline.
    pub fn wait_until_stopped(&self, deadline: Instant) -> Result<(), PeerError> {
        while !stopped::is_stopped(self.group) {
            if Instant::now() >= deadline {
                return Err(self.error(PeerErrorKind::TooLate("its threads to stop"), &self.output.state()));
            }
            thread::yield_now();
        }
        Ok(())
    }

    /// Whether the process ends before the deadline. It is not reaped here, so that its id, which is also the
    /// group's, cannot pass to another process before the group is killed.
    fn ended_by(&self, deadline: Instant) -> io::Result<bool> {
        let process = pidfd_open(self.group, PidfdFlags::empty())?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)) {
                Ok(ended) => return Ok(ended > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Kills the group, then reaps the process.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        // The group may contain only the ended process: nothing to kill is no failure.
        let _ = kill_process_group(self.group, Signal::KILL);
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }

    fn error(&self, kind: PeerErrorKind, state: &Captured) -> PeerError {
        PeerError { name: self.name.clone(), kind, output: state.show(LINES_SHOWN) }
    }

    fn system_error(&self, error: io::Error) -> PeerError {
        self.error(PeerErrorKind::System(error), &self.output.state())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if self.status.is_none() {
            // A destructor cannot report a failure to reap; the kill before it needs no reaping.
            let _ = self.reap();
        }
    }
}

/// Output of both streams, filled by one thread per stream.
#[derive(Default)]
struct Output {
    state: Mutex<Captured>,
    changed: Condvar,
}

impl Output {
    fn state(&self) -> MutexGuard<'_, Captured> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, Captured>, limit: Duration) -> MutexGuard<'a, Captured> {
        self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    fn wait_until_closed(&self, deadline: Instant) {
        let mut state = self.state();
        while state.open > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.wait(state, left);
        }
    }

    /// Reads `stream` to its end in a thread, which ends when every process that holds the stream has ended.
    fn capture(self: &Arc<Self>, mark: &'static str, stream: Option<impl Read + Send + 'static>) {
        let Some(stream) = stream else { return };
        self.state().open += 1;
        let output = Arc::clone(self);
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            while let Some(text) = read_line(&mut stream) {
                output.state().push(Line { mark, text });
                output.changed.notify_all();
            }
            output.state().open -= 1;
            output.changed.notify_all();
        });
    }
}

/// The next line without its end, or `None` at the end of the stream.
fn read_line(stream: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let read = stream.take(LINE_BYTES).read_until(b'\n', &mut bytes).ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned())
}

struct Line {
    mark: &'static str,
    text: String,
}

#[derive(Default)]
struct Captured {
    lines: VecDeque<Line>,
    /// Dropped lines.
    lost: u64,
    /// Streams that have not ended.
    open: u8,
}

impl Captured {
    fn push(&mut self, line: Line) {
        if self.lines.len() == LINES_KEPT {
            self.lines.pop_front();
            self.lost += 1;
        }
        self.lines.push_back(line);
    }

    /// Searches from line number `unread` on, and updates it to the line after the match.
    fn next_match(&self, unread: &mut u64, wanted: &mut impl FnMut(&str) -> bool) -> Option<String> {
        let skip = unread.saturating_sub(self.lost) as usize;
        let found = self.lines.iter().skip(skip).position(|line| wanted(&line.text));
        let read = found.map_or(self.lines.len(), |index| skip + index + 1);
        *unread = self.lost + read as u64;
        found.and_then(|index| self.lines.get(skip + index)).map(|line| line.text.clone())
    }

    fn show(&self, limit: usize) -> String {
        use std::fmt::Write;
        let hidden = self.lines.len().saturating_sub(limit);
        let mut text = String::new();
        if self.lost + hidden as u64 > 0 {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "    ({} earlier lines)", self.lost + hidden as u64);
        }
        for line in self.lines.iter().skip(hidden) {
            let _ = writeln!(text, "    {}| {}", line.mark, line.text);
        }
        text
    }
}
