//! Waiting for the end of a child process.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Waits up to `time`. Returns the exit status if the child has ended.
///
/// # Errors
/// When the operating system refuses.
pub fn ends_within(child: &mut Child, time: Duration) -> io::Result<Option<ExitStatus>> {
    // A child that was waited for has no process any more.
    if let Some(status) = child.try_wait()? {
        return Ok(Some(status));
    }
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let deadline = Instant::now() + time;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)) {
            Ok(_) => return child.try_wait(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn exit_status_is_returned_repeatedly() {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read line; exit 3"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        assert_eq!(ends_within(&mut child, Duration::from_millis(1)).expect("it is ours"), None);
        drop(child.stdin.take());
        for _ in 0..2 {
            let status = ends_within(&mut child, Duration::from_secs(20)).expect("it is ours");
            assert_eq!(status.and_then(|status| status.code()), Some(3));
        }
    }
}
