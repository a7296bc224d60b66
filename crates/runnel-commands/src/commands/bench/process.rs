//! Programs that the bench starts: read line by line, waited for with a deadline, killed on drop.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use runnel_io::Reactor;
use runnel_io::signals::Interrupts;

use super::failure::Failure;
use crate::child::ends_within;

/// How often a wait checks for an interrupt. Rare enough not to disturb a measurement.
const INTERRUPT_CHECK: Duration = Duration::from_millis(100);

/// How long a program may take to exit once its output has ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest line that is read, in bytes.
const LINE: u64 = 4096;

/// Lines that wait before the program blocks.
const LINES: usize = 64;

/// Whether the user interrupted, by SIGINT or SIGTERM.
#[derive(Debug)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    _interrupts: Interrupts,
    _reactor: Reactor,
}

impl Stop {
    /// Begins to catch the signals.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn notice() -> Result<Self, Failure> {
        let caught = || -> std::io::Result<Self> {
            let (asked, reactor) = (Arc::default(), Reactor::new()?);
            let interrupts = Interrupts::catch(&asked, reactor.waker())?;
            Ok(Self { asked, _interrupts: interrupts, _reactor: reactor })
        };
        caught().map_err(Failure::missing("cannot catch signals"))
    }

    fn check(&self) -> Result<(), Failure> {
        if self.asked.load(Ordering::SeqCst) { Err(Failure::Interrupted) } else { Ok(()) }
    }
}

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: PathBuf,
    stop: Arc<Stop>,
}

impl Process {
    /// Starts a program, which is called `name` in errors. Its standard error goes to the file `errors`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        name: &str,
        mut command: Command,
        errors: PathBuf,
        stop: &Arc<Stop>,
    ) -> Result<Self, Failure> {
        let start = |command: &mut Command| {
            // Ctrl-C is for the bench, which then ends its programs.
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(File::create(&errors)?)
                .process_group(0)
                .spawn()
        };
        let mut child = start(&mut command).map_err(Failure::missing(format_args!("cannot start {name}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, lines) = sync_channel(LINES);
        if let Some(output) = output {
            thread::spawn(move || listen(output, &sender));
        }
        Ok(Self { name: name.to_owned(), child, input, lines, errors, stop: Arc::clone(stop) })
    }

    /// Its name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that begins with `start`, and returns the rest of it. Other lines are skipped.
    ///
    /// # Errors
    /// When the program ends first, prints no such line before `deadline`, or the user interrupts.
    pub fn line_after(&mut self, start: &str, deadline: Instant) -> Result<String, Failure> {
        loop {
            match self.next_line(deadline)? {
                LineEvent::Line(line) => {
                    if let Some(rest) = line.strip_prefix(start) {
                        return Ok(rest.trim().to_owned());
                    }
                }
                LineEvent::Nothing => return Err(self.too_late(&format!("\"{}\"", start.trim()))),
                LineEvent::End => return Err(self.has_ended()),
            }
        }
    }

    /// Writes a line to the program's input.
    ///
    /// # Errors
    /// When it no longer reads.
    pub fn say(&mut self, line: &str) -> Result<(), Failure> {
        let said = self.input.as_mut().map(|input| writeln!(input, "{line}").and_then(|()| input.flush()));
        match said {
            Some(Ok(())) => Ok(()),
            _ => Err(self.has_ended()),
        }
    }

    /// Closes the program's input, which ends the program.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until the program has exited with success.
    ///
    /// # Errors
    /// When it fails or does not exit before `deadline`, or the user interrupts.
    pub fn wait(&mut self, deadline: Instant) -> Result<(), Failure> {
        loop {
            match self.next_line(deadline)? {
                LineEvent::Line(_) => {}
                LineEvent::Nothing => return Err(self.too_late("its end")),
                LineEvent::End => break,
            }
        }
        match self.exit_status() {
            Some(status) if status.success() => Ok(()),
            _ => Err(self.has_ended()),
        }
    }

    /// Lets the program run for this time.
    ///
    /// # Errors
    /// When it ends meanwhile, or the user interrupts.
    pub fn watch(&mut self, span: Duration) -> Result<(), Failure> {
        let deadline = Instant::now() + span;
        loop {
            match self.next_line(deadline)? {
                LineEvent::Line(_) => {}
                LineEvent::Nothing => return Ok(()),
                LineEvent::End => return Err(self.has_ended()),
            }
        }
    }

    fn next_line(&self, deadline: Instant) -> Result<LineEvent, Failure> {
        loop {
            self.stop.check()?;
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(INTERRUPT_CHECK)) {
                Ok(line) => return Ok(LineEvent::Line(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(LineEvent::End),
                Err(RecvTimeoutError::Timeout) if left <= INTERRUPT_CHECK => return Ok(LineEvent::Nothing),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The exit status of a program whose output has ended.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        ends_within(&mut self.child, EXIT_TIMEOUT).ok().flatten()
    }

    fn too_late(&self, what: &str) -> Failure {
        Failure::TooLate { program: self.name.clone(), what: what.to_owned() }
    }

    fn has_ended(&mut self) -> Failure {
        let status = self.exit_status();
        let how = status.map_or_else(|| "closed its output".to_owned(), |status| status.to_string());
        let error = last_line(&self.errors).map_or_else(String::new, |line| format!(": {line}"));
        Failure::Ended { program: self.name.clone(), how: format!("ended early ({how}){error}") }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The program may have ended already; that is no failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Result of a wait for a line.
enum LineEvent {
    Line(String),
    /// The deadline is past.
    Nothing,
    /// The program has closed its output.
    End,
}

/// Passes lines on until the program's output ends or the receiver is dropped.
fn listen(output: ChildStdout, sender: &SyncSender<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(output.by_ref().take(LINE).read_until(b'\n', &mut line), Ok(count) if count > 0) {
        if sender.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
            break;
        }
        line.clear();
    }
}

/// The last line of a file that is not blank.
fn last_line(path: &PathBuf) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).into_owned();
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    /// A shell script. The caller removes its file of errors.
    pub fn shell(name: &str, script: &str) -> Process {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let errors = std::env::temp_dir().join(format!("runnel-bench-{name}-{}", std::process::id()));
        Process::start(name, command, errors, &Arc::new(Stop::notice().unwrap())).unwrap()
    }

    impl Process {
        pub fn forget_errors(self) {
            fs::remove_file(&self.errors).unwrap();
        }
    }

    #[test]
    fn program_is_read_written_and_waited_for() {
        let mut process = shell("talker", "echo noise; echo at 7; read line; echo $line");
        assert_eq!(process.line_after("at ", soon()).unwrap(), "7");
        process.say("go on").unwrap();
        assert_eq!(process.line_after("go", soon()).unwrap(), "on");
        process.wait(soon()).unwrap();
        process.forget_errors();
    }

    #[test]
    fn failed_program_is_named_with_its_last_error() {
        let mut process = shell("failure", "echo 'no luck' >&2; exit 3");
        let why = process.line_after("ready", soon()).unwrap_err().to_string();
        assert!(why.starts_with("failure: ended early") && why.ends_with("no luck"), "{why}");
        assert!(matches!(process.wait(soon()), Err(Failure::Ended { .. })));
        process.forget_errors();
    }

    #[test]
    fn silent_program_is_too_late() {
        let mut process = shell("silence", "read line");
        let why = process.line_after("ready", Instant::now()).unwrap_err().to_string();
        assert_eq!(why, "silence: too late with \"ready\"");
        process.watch(Duration::from_millis(1)).unwrap();
        process.close_input();
        assert!(matches!(process.watch(Duration::from_secs(20)), Err(Failure::Ended { .. })));
        process.forget_errors();
    }
}
