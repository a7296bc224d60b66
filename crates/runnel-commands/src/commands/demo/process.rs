//! A node of the demo in a process of its own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use line_trace::latency::Log;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use rustix::process::{Pid, Signal, kill_process};

use super::graph::DemoGraph;
use crate::child::ends_within;
use crate::error::CliError;

/// How long a node may take to end after SIGTERM.
const END: Duration = Duration::from_secs(5);

/// The same when its records are no longer needed.
const DROP_TIMEOUT: Duration = Duration::from_secs(1);

/// Most bytes of records that are read at once.
const MOST: u64 = 64 << 20;

/// Records that are kept per topic: the newest of an hour.
const KEPT: usize = 60 * 3600;

/// Bytes of read records after which their memory is freed.
const FREED: u64 = 1 << 20;

/// Most bytes of a node's last error lines that are shown.
const STDERR_TAIL: u64 = 2000;

/// Variables that would give a node another name or address.
const CLEARED: [&str; 3] = ["ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE"];

/// A running node. It writes to memory, so that no file is left behind. Dropping this value ends the node.
pub struct NodeProcess {
    name: &'static str,
    child: Child,
    output: File,
    errors: File,
    /// Bytes of records read, bytes of those whose memory is freed, and the parsed records.
    read: u64,
    freed: u64,
    log: Log,
}

impl NodeProcess {
    /// Starts this program again as the node that the arguments describe.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(name: &'static str, arguments: &[String], graph: &DemoGraph) -> Result<Self, CliError> {
        let (output, errors) = (memory_file(name)?, memory_file(name)?);
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("line-trace").args(arguments);
        match graph {
            DemoGraph::Ros1 { master, .. } => command.env("ROS_MASTER_URI", master.to_string()),
            DemoGraph::Ros2 => command.arg("--ros2"),
        };
        CLEARED.iter().for_each(|variable| {
            command.env_remove(variable);
        });
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
        // Ctrl-C is for the demo, which then ends its nodes.
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

    /// Checks that the node runs.
    ///
    /// # Errors
    /// When it has ended; the error has its last error lines.
    pub fn check(&mut self) -> Result<(), CliError> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.failure(status)),
        }
    }

    /// The complete records up to now. The last piece may still be incomplete and is left for later.
    ///
    /// # Errors
    /// When the node's output has another format.
    pub fn records(&mut self) -> Result<&Log, CliError> {
        let unread = self.unread()?;
        let complete = &unread[..Log::last_piece(&unread)];
        if !complete.is_empty() {
            self.parse_records(complete)?;
        }
        Ok(&self.log)
    }

    /// Sends SIGTERM.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn terminate(&self) -> Result<(), CliError> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::TERM).map_err(io::Error::from)?)
    }

    /// Waits for the end of the node and reads its records. Call it after [`NodeProcess::terminate`].
    ///
    /// # Errors
    /// When it does not end in time, fails, or has not written its records.
    pub fn finish(mut self) -> Result<Log, CliError> {
        let Some(status) = ends_within(&mut self.child, END)? else {
            let why = format!("node {} did not end within {} s", self.name, END.as_secs());
            return Err(CliError::Failed(why));
        };
        if !status.success() {
            return Err(self.failure(status));
        }
        let unread = self.unread()?;
        self.parse_records(&unread)?;
        Ok(std::mem::take(&mut self.log))
    }

    /// The last lines on standard error; empty if there are none.
    pub fn stderr_tail(&self) -> String {
        let length = self.errors.metadata().map_or(0, |found| found.len());
        match bytes_from(&self.errors, length.saturating_sub(STDERR_TAIL), STDERR_TAIL) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
            Err(error) => format!("(its messages cannot be read: {error})"),
        }
    }

    /// The output that was not parsed yet.
    fn unread(&self) -> Result<Vec<u8>, CliError> {
        Ok(bytes_from(&self.output, self.read, MOST)?)
    }

    fn parse_records(&mut self, pieces: &[u8]) -> Result<(), CliError> {
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
        // If this fails, the records only take more memory.
        let _ = fallocate(&self.output, hole, 0, self.read);
        self.freed = self.read;
    }

    fn failure(&self, status: ExitStatus) -> CliError {
        let errors = match self.stderr_tail() {
            errors if errors.is_empty() => "it printed no error".to_owned(),
            errors => format!("its last errors:\n{errors}"),
        };
        CliError::Failed(format!("node {} has ended ({status}); {errors}", self.name))
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let is_signalled = self.terminate().is_ok();
        if !is_signalled || !matches!(ends_within(&mut self.child, DROP_TIMEOUT), Ok(Some(_))) {
            // The process may end just now; then there is nothing to kill.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Up to `most` bytes of a file from `start`. The file's position, at which the process writes, is not changed.
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
    fn failed_process_is_named_with_its_errors() {
        let failed = process("echo no robot here >&2; exit 3").finish().unwrap_err().to_string();
        assert!(
            failed.contains("node test has ended (exit status: 3); its last errors:\nno robot here"),
            "{failed}"
        );
    }

    #[test]
    fn only_the_last_errors_are_shown() {
        let mut process = process("seq 1 5000 >&2");
        assert!(ends_within(&mut process.child, Duration::from_secs(20)).unwrap().is_some());
        let errors = process.stderr_tail();
        assert!(errors.len() <= STDERR_TAIL as usize && errors.ends_with("\n4999\n5000"), "{errors}");
    }

    #[test]
    fn reading_errors_leaves_them_complete() {
        let script = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); echo $i >&2; done";
        let mut process = process(script);
        while process.child.try_wait().unwrap().is_none() {
            process.stderr_tail();
        }
        let errors = bytes_from(&process.errors, 0, MOST).unwrap();
        let expected: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
        assert!(errors == expected.as_bytes(), "{} of {} bytes are left", errors.len(), expected.len());
    }

    #[test]
    fn standard_output_is_parsed_as_records() {
        let log = process("echo line_trace records 1; echo sent 0 /leds; echo 12 ab").finish().unwrap();
        assert_eq!(log.topics.len(), 1);
        let nothing = process("true").finish().unwrap_err().to_string();
        assert!(nothing.starts_with("node test: the records"), "{nothing}");
    }

    #[test]
    fn incomplete_last_piece_is_left_for_later() {
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
        writing.parse_records(&rest).unwrap();
        let stamps: Vec<u64> = writing.log.topics[0].records.iter().map(|record| record.stamp_ns).collect();
        assert_eq!(stamps, [1, 2, 3]);
    }

    #[test]
    fn terminated_process_ends() {
        let mut waiting = process("exec sleep 600");
        waiting.terminate().unwrap();
        assert!(ends_within(&mut waiting.child, Duration::from_secs(20)).unwrap().is_some());
    }

    #[test]
    fn dropped_process_is_killed_if_necessary() {
        for script in ["echo ready >&2; exec sleep 600", "trap '' TERM; echo ready >&2; exec sleep 600"] {
            let process = process(script);
            let deadline = Instant::now() + Duration::from_secs(20);
            while process.stderr_tail() != "ready" {
                assert!(Instant::now() < deadline, "{script}");
                std::thread::yield_now();
            }
            let id = process.id();
            drop(process);
            assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "{script}");
        }
    }
}
