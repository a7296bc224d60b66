//! Programs that the bench starts: listened to line by line, waited for with a deadline, gone when their value goes.

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

use runnel::io::Reactor;
use runnel::io::signals::Interrupts;

use super::failure::Failure;
use crate::child::ends_within;

/// How often a wait looks whether the user has asked for the end. Rare enough to disturb no measurement.
const LOOK: Duration = Duration::from_millis(100);

/// How long a program that was not waited for may take to be gone once its output has ended.
const LAST_BREATH: Duration = Duration::from_secs(5);

/// Longest line that a program may say, in bytes.
const LINE: u64 = 4096;

/// Lines that wait to be looked at before the program has to wait.
const LINES: usize = 64;

/// Whether the user has asked for the end, by SIGINT or SIGTERM.
#[derive(Debug)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    _interrupts: Interrupts,
    _reactor: Reactor,
}

impl Stop {
    /// Begins to notice the signals.
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
    /// Starts a program, which is called `name` in errors. What it says on standard error goes to the file `errors`.
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
            // Ctrl-C is for the bench, which then ends what it has started.
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(File::create(&errors)?)
                .process_group(0)
                .spawn()
        };
        let mut child = start(&mut command).map_err(Failure::missing(format_args!("cannot start {name}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (told, lines) = sync_channel(LINES);
        if let Some(output) = output {
            thread::spawn(move || listen(output, &told));
        }
        Ok(Self { name: name.to_owned(), child, input, lines, errors, stop: Arc::clone(stop) })
    }

    /// What it is called in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that begins with `start`, and gives what follows; other lines are passed over.
    ///
    /// # Errors
    /// When the program ends without saying it, says nothing until `deadline`, or the user asks for the end.
    pub fn line_after(&mut self, start: &str, deadline: Instant) -> Result<String, Failure> {
        loop {
            match self.next_line(deadline)? {
                Heard::Line(line) => {
                    if let Some(rest) = line.strip_prefix(start) {
                        return Ok(rest.trim().to_owned());
                    }
                }
                Heard::Nothing => return Err(self.too_late(&format!("\"{}\"", start.trim()))),
                Heard::End => return Err(self.has_ended()),
            }
        }
    }

    /// Gives the program one line of input.
    ///
    /// # Errors
    /// When it takes none any more.
    pub fn say(&mut self, line: &str) -> Result<(), Failure> {
        let said = self.input.as_mut().map(|input| writeln!(input, "{line}").and_then(|()| input.flush()));
        match said {
            Some(Ok(())) => Ok(()),
            _ => Err(self.has_ended()),
        }
    }

    /// Tells the program that there is no more input, which is for it to end.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until the program has ended by itself and well.
    ///
    /// # Errors
    /// When it ends otherwise or not until `deadline`, or the user asks for the end.
    pub fn wait(&mut self, deadline: Instant) -> Result<(), Failure> {
        loop {
            match self.next_line(deadline)? {
                Heard::Line(_) => {}
                Heard::Nothing => return Err(self.too_late("its end")),
                Heard::End => break,
            }
        }
        match self.exit_status() {
            Some(status) if status.success() => Ok(()),
            _ => Err(self.has_ended()),
        }
    }

    /// Lets the program run for a while.
    ///
    /// # Errors
    /// When it ends meanwhile, or the user asks for the end.
    pub fn watch(&mut self, span: Duration) -> Result<(), Failure> {
        let deadline = Instant::now() + span;
        loop {
            match self.next_line(deadline)? {
                Heard::Line(_) => {}
                Heard::Nothing => return Ok(()),
                Heard::End => return Err(self.has_ended()),
            }
        }
    }

    fn next_line(&self, deadline: Instant) -> Result<Heard, Failure> {
        loop {
            self.stop.check()?;
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(LOOK)) {
                Ok(line) => return Ok(Heard::Line(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(Heard::End),
                Err(RecvTimeoutError::Timeout) if left <= LOOK => return Ok(Heard::Nothing),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// How a program has ended whose output has ended.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        ends_within(&mut self.child, LAST_BREATH).ok().flatten()
    }

    fn too_late(&self, what: &str) -> Failure {
        Failure::TooLate { who: self.name.clone(), what: what.to_owned() }
    }

    fn has_ended(&mut self) -> Failure {
        let status = self.exit_status();
        let how = status.map_or_else(|| "closed its output".to_owned(), |status| status.to_string());
        let said = last_line(&self.errors).map_or_else(String::new, |line| format!(": {line}"));
        Failure::Ended { who: self.name.clone(), how: format!("ended early ({how}){said}") }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A program that has ended already needs neither; that is no failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a wait for a line came to.
enum Heard {
    Line(String),
    /// The deadline is past.
    Nothing,
    /// The program has closed its output.
    End,
}

/// Hands on lines until the program's output ends or nobody listens.
fn listen(output: ChildStdout, told: &SyncSender<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(output.by_ref().take(LINE).read_until(b'\n', &mut line), Ok(count) if count > 0) {
        if told.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
            break;
        }
        line.clear();
    }
}

/// The last line of a file that holds anything.
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

    /// A program of the shell, whose file of errors is to be removed.
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
    fn a_program_is_heard_told_and_waited_for() {
        let mut process = shell("talker", "echo noise; echo at 7; read line; echo $line");
        assert_eq!(process.line_after("at ", soon()).unwrap(), "7");
        process.say("go on").unwrap();
        assert_eq!(process.line_after("go", soon()).unwrap(), "on");
        process.wait(soon()).unwrap();
        process.forget_errors();
    }

    #[test]
    fn a_program_that_fails_is_named_with_its_last_words() {
        let mut process = shell("failure", "echo 'no luck' >&2; exit 3");
        let why = process.line_after("ready", soon()).unwrap_err().to_string();
        assert!(why.starts_with("failure: ended early") && why.ends_with("no luck"), "{why}");
        assert!(matches!(process.wait(soon()), Err(Failure::Ended { .. })));
        process.forget_errors();
    }

    #[test]
    fn a_silent_program_is_too_late() {
        let mut process = shell("silence", "read line");
        let why = process.line_after("ready", Instant::now()).unwrap_err().to_string();
        assert_eq!(why, "silence: too late with \"ready\"");
        process.watch(Duration::from_millis(1)).unwrap();
        process.close_input();
        assert!(matches!(process.watch(Duration::from_secs(20)), Err(Failure::Ended { .. })));
        process.forget_errors();
    }
}
