//! The process of the node that is measured.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use runnel_floor::now;
use rustix::process::{Pid, Signal, kill_process};

use crate::{Failure, LONG};

/// How often its end is checked.
const STEP: Duration = Duration::from_millis(5);

/// A process, which is killed if it is not ended.
pub struct NodeProcess {
    child: Child,
    /// The wall clock before it was started.
    pub started: u64,
}

impl NodeProcess {
    /// Starts a program on the CPUs of this thread.
    pub fn start(program: &[String]) -> Result<Self, Failure> {
        let (name, arguments) = program.split_first().ok_or("no program")?;
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        let started = wall_clock();
        let child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        Ok(Self { child, started })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Fails if it has ended.
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait()? {
            Some(status) => Err(format!("the node ended: {status}").into()),
            None => Ok(()),
        }
    }

    /// Ends it as Ctrl-C does.
    pub fn end(mut self) -> Result<(), Failure> {
        kill_process(Pid::from_child(&self.child), Signal::INT)?;
        let late = now() + LONG.as_nanos() as u64;
        while now() < late {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the node failed: {status}").into()),
                None => thread::sleep(STEP),
            }
        }
        Err(format!("the node did not end within {LONG:?}").into())
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Nanoseconds since 1970. The node in WebAssembly has no other clock that it shares with this process.
pub fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}
