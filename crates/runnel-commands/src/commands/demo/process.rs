//! A node of the demonstration in a process of its own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use line_trace::latency::Log;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use rustix::process::{Pid, Signal, kill_process};

use super::place::Place;
use crate::child::ends_within;
use crate::error::CliError;

/// How long a node may take to end once it has been told to.
const END: Duration = Duration::from_secs(5);

/// The same when nobody wants its records any more.
const HASTY_END: Duration = Duration::from_secs(1);

/// Most bytes of records that are read at once.
const MOST: u64 = 64 << 20;

/// Messages of each topic whose records are kept: the newest of an hour.
const KEPT: usize = 60 * 3600;

/// Bytes of records that are read before their memory is freed.
const FREED: u64 = 1 << 20;

/// Bytes of what a node said last that are shown.
const LAST_WORDS: u64 = 2000;

/// Variables that would lead a node elsewhere.
const CLEARED: [&str; 3] = ["ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE"];

/// A running node. What it writes goes to memory, so that no file is left behind; dropping it ends it.
pub struct NodeProcess {
    name: &'static str,
    child: Child,
    output: File,
    errors: File,
    /// Bytes of its records that have been read, those of them whose memory was freed, and what they said.
    read: u64,
    freed: u64,
    log: Log,
}

impl NodeProcess {
    /// Starts this program again as the node that the arguments say, in this place.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(name: &'static str, arguments: &[String], place: &Place) -> Result<Self, CliError> {
        let (output, errors) = (memory_file(name)?, memory_file(name)?);
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("line-trace").args(arguments);
        match place {
            Place::Ros1 { master, .. } => command.env("ROS_MASTER_URI", master.to_string()),
            Place::Ros2 => command.arg("--ros2"),
        };
        CLEARED.iter().for_each(|variable| {
            command.env_remove(variable);
        });
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
        // Ctrl-C is for the demonstration, which then ends its nodes.
        let child = command.process_group(0).spawn();
        let child =
            child.map_err(|error| CliError::Failed(format!("node {name} cannot be started: {error}")))?;
        Ok(Self { name, child, output, errors, read: 0, freed: 0, log: Log::default() })
    }

    /// The node's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Makes sure that it runs.
    ///
    /// # Errors
    /// When it has ended, with what it said last.
    pub fn check(&mut self) -> Result<(), CliError> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.failure(status)),
        }
    }

    /// What it has recorded so far, but for the last piece, which it may be writing.
    ///
    /// # Errors
    /// When what it wrote are no records.
    pub fn records(&mut self) -> Result<&Log, CliError> {
        let unread = self.unread()?;
        let complete = &unread[..Log::last_piece(&unread)];
        if !complete.is_empty() {
            self.hear(complete)?;
        }
        Ok(&self.log)
    }

    /// Tells it to end.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn tell_to_end(&self) -> Result<(), CliError> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::TERM).map_err(io::Error::from)?)
    }

    /// Waits for its end, and reads what it has recorded. To be called after [`NodeProcess::tell_to_end`].
    ///
    /// # Errors
    /// When it does not end in time, ends with a failure, or has not written its records.
    pub fn finish(mut self) -> Result<Log, CliError> {
        let Some(status) = ends_within(&mut self.child, END)? else {
            let why = format!("node {} did not end within {} s", self.name, END.as_secs());
            return Err(CliError::Failed(why));
        };
        if !status.success() {
            return Err(self.failure(status));
        }
        let unread = self.unread()?;
        self.hear(&unread)?;
        Ok(std::mem::take(&mut self.log))
    }

    /// What it said last on standard error, empty if nothing.
    pub fn last_words(&self) -> String {
        let length = self.errors.metadata().map_or(0, |found| found.len());
        match bytes_from(&self.errors, length.saturating_sub(LAST_WORDS), LAST_WORDS) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
            Err(error) => format!("(its messages cannot be read: {error})"),
        }
    }

    /// What it has written that was not heard yet.
    fn unread(&self) -> Result<Vec<u8>, CliError> {
        Ok(bytes_from(&self.output, self.read, MOST)?)
    }

    fn hear(&mut self, pieces: &[u8]) -> Result<(), CliError> {
        let log = Log::read(pieces);
        self.log.add(log.map_err(|error| CliError::Failed(format!("node {}: {error}", self.name)))?);
        self.log.keep_newest(KEPT);
        self.read += pieces.len() as u64;
        self.free_read();
        Ok(())
    }

    /// Frees the memory of records that have been read, so that a long drive does not fill it.
    fn free_read(&mut self) {
        if self.read - self.freed < FREED {
            return;
        }
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Without it the records take more memory, and nothing else changes.
        let _ = fallocate(&self.output, hole, 0, self.read);
        self.freed = self.read;
    }

    fn failure(&self, status: ExitStatus) -> CliError {
        let said = match self.last_words() {
            said if said.is_empty() => "it said nothing".to_owned(),
            said => format!("it said:\n{said}"),
        };
        CliError::Failed(format!("node {} has ended ({status}); {said}", self.name))
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let told = self.tell_to_end().is_ok();
        if !told || !matches!(ends_within(&mut self.child, HASTY_END), Ok(Some(_))) {
            // It may end just now, and then there is nothing to kill.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// What a file holds from there on, so many bytes at most. The place at which the process writes on, which is that of
/// the file, is left alone.
fn bytes_from(file: &File, start: u64, most: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len().saturating_sub(start).min(most);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

fn memory_file(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(format!("line-trace-{name}"), MemfdFlags::CLOEXEC)?))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn process(script: &str) -> NodeProcess {
        let (output, errors) = (memory_file("test").unwrap(), memory_file("test").unwrap());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command.stdout(output.try_clone().unwrap()).stderr(errors.try_clone().unwrap());
        let child = command.spawn().unwrap();
        NodeProcess { name: "test", child, output, errors, read: 0, freed: 0, log: Log::default() }
    }

    #[test]
    fn a_process_that_fails_is_named_with_what_it_said() {
        let failed = process("echo no robot here >&2; exit 3").finish().unwrap_err().to_string();
        assert!(failed.contains("node test has ended (exit status: 3); it said:\nno robot here"), "{failed}");
    }

    #[test]
    fn of_much_that_was_said_the_last_is_shown() {
        let mut process = process("seq 1 5000 >&2");
        assert!(ends_within(&mut process.child, Duration::from_secs(20)).unwrap().is_some());
        let said = process.last_words();
        assert!(said.len() <= LAST_WORDS as usize && said.ends_with("\n4999\n5000"), "{said}");
    }

    #[test]
    fn what_a_process_says_while_it_is_listened_to_stays_whole() {
        let script = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); echo $i >&2; done";
        let mut process = process(script);
        while process.child.try_wait().unwrap().is_none() {
            process.last_words();
        }
        let said = bytes_from(&process.errors, 0, MOST).unwrap();
        let expected: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
        assert!(said == expected.as_bytes(), "{} of {} bytes are left", said.len(), expected.len());
    }

    #[test]
    fn what_was_written_to_standard_output_is_read_as_records() {
        let log = process("echo line_trace records 1; echo sent 0 /leds; echo 12 ab").finish().unwrap();
        assert_eq!(log.topics.len(), 1);
        let nothing = process("true").finish().unwrap_err().to_string();
        assert!(nothing.starts_with("node test: the records"), "{nothing}");
    }

    #[test]
    fn records_are_read_while_they_are_written_but_for_the_last_piece() {
        let script = "printf 'line_trace records 1\nsent 0 /a\n1 a\n2 b\nline_trace records 1\nsent 0 /a\n3\n'; exec sleep 600";
        let mut writing = process(script);
        let deadline = Instant::now() + Duration::from_secs(20);
        while writing.records().unwrap().topics.is_empty() {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
        assert_eq!(writing.records().unwrap().topics[0].records.len(), 2);
        rustix::io::pwrite(&writing.output, b"3 c\n", writing.output.metadata().unwrap().len() - 2).unwrap();
        let rest = writing.unread().unwrap();
        writing.hear(&rest).unwrap();
        let stamps: Vec<u64> = writing.log.topics[0].records.iter().map(|record| record.stamp_ns).collect();
        assert_eq!(stamps, [1, 2, 3]);
    }

    #[test]
    fn a_process_that_was_told_to_end_ends() {
        let mut waiting = process("exec sleep 600");
        waiting.tell_to_end().unwrap();
        assert!(ends_within(&mut waiting.child, Duration::from_secs(20)).unwrap().is_some());
    }

    #[test]
    fn a_process_that_is_dropped_is_gone_even_if_it_does_not_want_to_end() {
        for script in ["echo ready >&2; exec sleep 600", "trap '' TERM; echo ready >&2; exec sleep 600"] {
            let process = process(script);
            let deadline = Instant::now() + Duration::from_secs(20);
            while process.last_words() != "ready" {
                assert!(Instant::now() < deadline, "{script}");
                std::thread::yield_now();
            }
            let id = process.id();
            drop(process);
            assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "{script}");
        }
    }
}
