//! CPU affinity and real-time priority of threads.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;

/// Binds the calling thread to these CPUs, numbered from 0.
///
/// # Errors
/// If a number exceeds the kernel's CPU set, or none of the CPUs may be used.
pub fn bind_thread(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("CPU number {cpu} is out of range"),
            ));
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Gives the calling thread, and the threads and programs that it starts, a real-time priority of 1 to 99
/// (`SCHED_FIFO`): it runs before every ordinary thread until it waits.
///
/// # Errors
/// If the priority is out of range, or the process lacks the permission (`CAP_SYS_NICE` or `ulimit -r`).
pub fn set_real_time_priority(priority: i32) -> io::Result<()> {
    // SAFETY: a structure of numbers, for which zero is a value. Some C libraries have more fields in it than the
    // priority.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the pointer is to a whole `sched_param` that outlives the call, which only reads it. It is set for the
    // thread, since musl refuses to set the scheduler of a process.
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
    fn invalid_priority_is_refused() {
        for priority in [0, 100] {
            assert_eq!(set_real_time_priority(priority).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn invalid_cpu_is_refused() {
        assert_eq!(bind_thread(&[CpuSet::MAX_CPU]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
