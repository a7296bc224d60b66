//! Where a thread runs, and what it takes precedence over.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;

/// Binds the calling thread to these CPUs, numbered from 0.
///
/// # Errors
/// When a number is beyond what the kernel's set holds, or no named CPU may be used.
pub fn bind_thread(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no CPU has the number {cpu}")));
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Gives the calling thread, and the threads and programs that it starts, a real-time priority of 1 to 99
/// (`SCHED_FIFO`): it runs before every ordinary thread until it waits.
///
/// # Errors
/// When the number is none of these, or the process may not do so: that takes `CAP_SYS_NICE` or `ulimit -r`.
pub fn set_real_time_priority(priority: i32) -> io::Result<()> {
    // SAFETY: a structure of numbers, for which zero is a value. Some C libraries have more in it than the priority.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the pointer is to a whole `sched_param` that outlives the call, which only reads it. Of the thread, since
    // musl refuses to set the scheduler of a process.
    match unsafe {
        libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_FIFO, &raw const parameters)
    } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_that_does_not_exist_is_refused() {
        for priority in [0, 100] {
            assert_eq!(set_real_time_priority(priority).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        assert_eq!(bind_thread(&[CpuSet::MAX_CPU]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
