//! Non-blocking line output to standard error.
//!
//! A stopped terminal, or a pipe that no process reads, would block a robot's control loop for a log line. Pipes and
//! terminals are therefore opened a second time, since other processes share standard error and its non-blocking
//! flag.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};
use rustix::net::{SendFlags, send};

/// Most lines that wait for the writing thread.
const WAITING: usize = 64;

/// Standard error, or another descriptor, as a target for lines.
#[derive(Debug)]
pub struct Output<D = io::Stderr> {
    target: D,
    mode: Option<WriteMode>,
    /// The rest of a partly written line.
    rest: Vec<u8>,
    dropped: u64,
}

/// How the descriptor's current file is written.
#[derive(Debug)]
struct WriteMode {
    /// Device and inode of the file.
    file: (u64, u64),
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Reopened, non-blocking.
    Own(OwnedFd),
    Socket,
    /// A file on a disk, which does not block for long.
    File,
    /// A file that cannot be reopened, such as another user's terminal: a thread blocks for it.
    Shared(SyncSender<Vec<u8>>),
}

impl<D: AsFd> Output<D> {
    /// Another descriptor.
    pub fn to(target: D) -> Self {
        Self { target, mode: None, rest: Vec::new(), dropped: 0 }
    }

    /// Writes a line and its line end; false if it was dropped, because an earlier one is not written yet.
    pub fn line(&mut self, line: &str) -> bool {
        let written = self.try_line(line);
        if !written {
            self.dropped += 1;
        }
        written
    }

    /// Lines that were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn try_line(&mut self, line: &str) -> bool {
        if !self.flush() {
            return false;
        }
        let bytes = [line.as_bytes(), b"\n"].concat();
        match self.write(&bytes) {
            None | Some(0) => false,
            Some(written) => {
                // The rest of a partly written line follows later.
                self.rest = bytes[written..].to_vec();
                true
            }
        }
    }

    /// Writes the rest of an earlier line; true if nothing is left.
    pub fn flush(&mut self) -> bool {
        while !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            let written = self.write(&rest);
            // The rest is dropped if the descriptor can no longer be written.
            self.rest = written.map(|written| rest[written..].to_vec()).unwrap_or_default();
            if written.is_none_or(|written| written == 0) {
                return self.rest.is_empty();
            }
        }
        true
    }

    /// Bytes written without blocking; `None` if the descriptor cannot be written.
    fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut written = 0;
        while written < bytes.len() {
            self.update_mode()?;
            let mode = self.mode.as_ref()?;
            match mode.write(self.target.as_fd(), &bytes[written..]) {
                Ok(count) if count > 0 => written += count,
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(written)
    }

    /// Determines the write mode again after the descriptor was redirected.
    fn update_mode(&mut self) -> Option<()> {
        let stat = fstat(self.target.as_fd()).ok()?;
        let file = (stat.st_dev, stat.st_ino);
        if self.mode.as_ref().is_none_or(|mode| mode.file != file) {
            self.mode = Some(WriteMode { file, kind: kind(self.target.as_fd(), &stat) });
        }
        Some(())
    }
}

fn kind(target: BorrowedFd<'_>, stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Socket => Kind::Socket,
        FileType::Fifo | FileType::CharacterDevice => open_again(target)
            .map_or_else(|_| in_background(target).map_or(Kind::File, Kind::Shared), Kind::Own),
        _ => Kind::File,
    }
}

/// Starts a thread that writes what it receives. It ends when all senders are dropped.
fn in_background(target: BorrowedFd<'_>) -> io::Result<SyncSender<Vec<u8>>> {
    let mut target = File::from(target.try_clone_to_owned()?);
    let (sender, lines) = sync_channel::<Vec<u8>>(WAITING);
    let write = move || lines.into_iter().try_for_each(|line| target.write_all(&line));
    thread::Builder::new()
        .name("runnel-console".into())
        .stack_size(128 * 1024)
        .spawn(move || drop(write()))?;
    Ok(sender)
}

fn open_again(target: BorrowedFd<'_>) -> rustix::io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", target.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    open(path.as_str(), flags, Mode::empty())
}

impl WriteMode {
    fn write(&self, target: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        match &self.kind {
            Kind::Own(own) => Ok(rustix::io::write(own, bytes)?),
            Kind::Socket => Ok(send(target, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?),
            Kind::File => Ok(rustix::io::write(target, bytes)?),
            Kind::Shared(lines) => match lines.try_send(bytes.to_vec()) {
                Ok(()) => Ok(bytes.len()),
                Err(TrySendError::Full(_)) => Ok(0),
                Err(TrySendError::Disconnected(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn read_all(from: &mut impl Read) -> String {
        let mut text = Vec::new();
        let mut some = [0; 65536];
        while let Ok(count) = from.read(&mut some)
            && count > 0
        {
            text.extend_from_slice(&some[..count]);
        }
        String::from_utf8(text).expect("text")
    }

    fn check_full_then_drained<D: AsFd>(mut output: Output<D>, mut reader: impl Read) {
        let line = |number: usize| format!("{number} {}", "x".repeat(5000));
        let written = (0..).take_while(|number| output.line(&line(*number))).count();
        assert!(written > 2, "{written}");
        assert!(!output.line("one more"));
        assert_eq!(output.dropped(), 2);
        let mut text = read_all(&mut reader);
        assert!(output.line("again"));
        text.push_str(&read_all(&mut reader));
        let expected: Vec<String> = (0..written).map(line).chain(["again".to_owned()]).collect();
        assert!(text.lines().eq(expected.iter()), "no line is torn or lost but those that were counted");
    }

    #[test]
    fn full_pipe_drops_lines_without_blocking() {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
        rustix::io::ioctl_fionbio(&reader, true).expect("set");
        check_full_then_drained(Output::to(writer), File::from(reader));
    }

    #[test]
    fn full_socket_drops_lines_without_blocking() {
        let (reader, writer) = UnixStream::pair().expect("sockets");
        reader.set_nonblocking(true).expect("set");
        check_full_then_drained(Output::to(writer), reader);
    }

    #[test]
    fn unopenable_file_is_written_by_thread() {
        let (mut reader, writer) = UnixStream::pair().expect("sockets");
        let lines = in_background(writer.as_fd()).expect("a thread");
        let file = fstat(&writer).map(|stat| (stat.st_dev, stat.st_ino)).expect("known");
        let mut output = Output::to(writer);
        output.mode = Some(WriteMode { file, kind: Kind::Shared(lines) });
        let line = "x".repeat(5000);
        let written = (0..100_000).take_while(|_| output.line(&line)).count();
        assert!(written >= WAITING && output.dropped() == 1, "{written}");
        drop(output);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("all of it");
        assert!(text.lines().all(|read| read == line) && text.lines().count() == written);
    }

    #[test]
    fn closed_reader_leaves_no_rest() {
        let (reader, writer) = UnixStream::pair().expect("sockets");
        drop(reader);
        let mut output = Output::to(writer);
        assert!(!output.line("without a reader"));
        assert!(output.rest.is_empty());
    }

    #[test]
    fn file_position_is_shared_with_others() {
        let folder = std::env::temp_dir().join(format!("runnel_output_{}", std::process::id()));
        let mut file = File::create(&folder).expect("a file");
        file.write_all(b"first\n").expect("written");
        assert!(Output::to(file).line("second"));
        let text = std::fs::read_to_string(&folder).expect("read");
        std::fs::remove_file(&folder).expect("removed");
        assert_eq!(text, "first\nsecond\n");
    }
}
