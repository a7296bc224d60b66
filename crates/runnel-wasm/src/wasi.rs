//! The functions of WASI (preview 1) that the libraries of languages need: arguments, clocks, random bytes, standard output,
//! and the exit. There are no files and no sockets: what the host holds of these cannot move with the node.

use std::fmt;
use std::time::Duration;

use runnel_io::clock;
use wasmtime::{Caller, Linker};

use crate::host::{GuestMemory, Host, Sleep, Suspended, other_function, resume, suspend};
use crate::imports::fill_randomly;
use crate::refusal::Refusal;

const MODULE: &str = "wasi_snapshot_preview1";

/// Error numbers of WASI.
const SUCCESS: i32 = 0;
const BAD_DESCRIPTOR: i32 = 8;
const INVALID: i32 = 28;
const NOT_SUPPORTED: i32 = 58;
const NO_SUCH_FUNCTION: i32 = 52;

/// Bytes that a call of `fd_write` writes, at most: the guest calls again for the rest.
const MOST_WRITTEN: u32 = 64 << 10;

/// The guest has called `proc_exit`.
#[derive(Clone, Copy, Debug)]
pub struct Exit(pub i32);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it ended with exit status {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// Adds all functions.
pub fn add_all(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    add_arguments(linker)?;
    add_clocks(linker)?;
    add_descriptors(linker)?;
    linker.func_wrap(MODULE, "random_get", |mut caller: Caller<'_, Host>, to: u32, length: u32| {
        answer(&mut caller, |_, memory| {
            fill_randomly(memory.place(to, length as usize)?)?;
            Ok(SUCCESS)
        })
    })?;
    linker.func_wrap(MODULE, "proc_exit", |status: i32| -> wasmtime::Result<()> {
        Err(wasmtime::Error::new(Exit(status)))
    })?;
    linker.func_wrap(MODULE, "sched_yield", || SUCCESS)?;
    Ok(())
}

fn add_arguments(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(MODULE, "args_sizes_get", |mut caller: Caller<'_, Host>, count: u32, bytes: u32| {
        answer(&mut caller, |host, memory| {
            let length: usize = host.arguments.iter().map(|one| one.len() + 1).sum();
            memory.write(count, &(host.arguments.len() as u32).to_le_bytes())?;
            memory.write(bytes, &(length as u32).to_le_bytes())?;
            Ok(SUCCESS)
        })
    })?;
    linker.func_wrap(MODULE, "args_get", |mut caller: Caller<'_, Host>, places: u32, to: u32| {
        answer(&mut caller, |host, memory| {
            let mut to = to;
            for (index, argument) in host.arguments.iter().enumerate() {
                memory.write(places.wrapping_add(4 * index as u32), &to.to_le_bytes())?;
                memory.write(to, argument.as_bytes())?;
                to = to.wrapping_add(argument.len() as u32);
                memory.write(to, &[0])?;
                to = to.wrapping_add(1);
            }
            Ok(SUCCESS)
        })
    })?;
    linker.func_wrap(
        MODULE,
        "environ_sizes_get",
        |mut caller: Caller<'_, Host>, count: u32, bytes: u32| {
            answer(&mut caller, |_, memory| {
                memory.write(count, &[0; 4])?;
                memory.write(bytes, &[0; 4])?;
                Ok(SUCCESS)
            })
        },
    )?;
    linker.func_wrap(MODULE, "environ_get", |_: u32, _: u32| SUCCESS)?;
    Ok(())
}

fn add_clocks(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "clock_time_get",
        |mut caller: Caller<'_, Host>, id: u32, _: u64, to: u32| {
            answer(&mut caller, |host, memory| {
                let Some(nanoseconds) = time_of(host, id) else { return Ok(INVALID) };
                memory.write(to, &nanoseconds.to_le_bytes())?;
                Ok(SUCCESS)
            })
        },
    )?;
    linker.func_wrap(MODULE, "clock_res_get", |mut caller: Caller<'_, Host>, _: u32, to: u32| {
        answer(&mut caller, |_, memory| {
            memory.write(to, &1_u64.to_le_bytes())?;
            Ok(SUCCESS)
        })
    })?;
    linker.func_wrap(
        MODULE,
        "poll_oneoff",
        |mut caller: Caller<'_, Host>, subscriptions: u32, events: u32, count: u32, to: u32| {
            poll(&mut caller, (subscriptions, count), (events, to))
        },
    )?;
    Ok(())
}

/// The wall clock is that of the host, also while ROS time is simulated.
fn time_of(host: &Host, clock: u32) -> Option<u64> {
    match clock {
        0 => {
            let now = clock::realtime();
            u64::try_from(i64::from(now.sec) * 1_000_000_000 + i64::from(now.nanosec)).ok()
        }
        1..=3 => Some(host.clock.now().as_nanos() as u64),
        _ => None,
    }
}

/// Sleeps until the first of some times. Nothing else can be polled.
fn poll(
    caller: &mut Caller<'_, Host>,
    subscriptions: (u32, u32),
    (events, count): (u32, u32),
) -> wasmtime::Result<i32> {
    let sleep = match resume(caller)? {
        Some(Suspended::Sleep(sleep)) => Some(sleep),
        Some(_) => return Err(other_function()),
        None => {
            let mut first = None;
            answer(caller, |host, memory| {
                first = first_time(host, memory, subscriptions)?;
                Ok(SUCCESS)
            })?;
            first.map(|(left, user_data)| Sleep { left, user_data, events, count })
        }
    };
    let Some(sleep) = sleep else { return Ok(NOT_SUPPORTED) };
    let mut left = Duration::ZERO;
    let slept = answer(caller, |host, memory| {
        left = host.sleep(Duration::from_nanos(sleep.left))?;
        let mut event = [0; 32];
        event[..8].copy_from_slice(&sleep.user_data.to_le_bytes());
        memory.write(sleep.events, &event)?;
        memory.write(sleep.count, &1_u32.to_le_bytes())?;
        Ok(SUCCESS)
    })?;
    if !left.is_zero() {
        suspend(caller, Suspended::Sleep(Sleep { left: left.as_nanos() as u64, ..sleep }))?;
    }
    Ok(slept)
}

/// The time until the first of what is polled, in nanoseconds, and the number that the guest gave it.
fn first_time(
    host: &Host,
    memory: &GuestMemory<'_>,
    (subscriptions, count): (u32, u32),
) -> Result<Option<(u64, u64)>, Refusal> {
    const SUBSCRIPTION: u32 = 48;
    let mut first: Option<(u64, u64)> = None;
    for index in 0..count.min(1000) {
        let record = memory.bytes(subscriptions.wrapping_add(SUBSCRIPTION * index), SUBSCRIPTION)?;
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| record[at + byte]));
        if record[8] != 0 {
            continue;
        }
        let (user_data, clock, time, is_absolute) = (long(0), record[16], long(24), record[40] & 1 == 1);
        let now = time_of(host, u32::from(clock)).unwrap_or(0);
        let wait = if is_absolute { time.saturating_sub(now) } else { time };
        first = Some(first.map_or((wait, user_data), |first| first.min((wait, user_data))));
    }
    Ok(first)
}

fn add_descriptors(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "fd_write",
        |mut caller: Caller<'_, Host>, descriptor: u32, parts: u32, count: u32, to: u32| {
            answer(&mut caller, |host, memory| write(host, memory, descriptor, (parts, count), to))
        },
    )?;
    linker.func_wrap(MODULE, "fd_fdstat_get", |mut caller: Caller<'_, Host>, descriptor: u32, to: u32| {
        answer(&mut caller, |_, memory| {
            if descriptor > 2 {
                return Ok(BAD_DESCRIPTOR);
            }
            // A character device, with all rights.
            let mut status = [0; 24];
            status[0] = 2;
            status[8..].fill(0xff);
            memory.write(to, &status)?;
            Ok(SUCCESS)
        })
    })?;
    linker.func_wrap(MODULE, "fd_close", |_: u32| BAD_DESCRIPTOR)?;
    linker.func_wrap(MODULE, "fd_fdstat_set_flags", |_: u32, _: u32| SUCCESS)?;
    linker.func_wrap(MODULE, "fd_filestat_get", |_: u32, _: u32| BAD_DESCRIPTOR)?;
    linker.func_wrap(MODULE, "fd_prestat_get", |_: u32, _: u32| BAD_DESCRIPTOR)?;
    linker.func_wrap(MODULE, "fd_prestat_dir_name", |_: u32, _: u32, _: u32| BAD_DESCRIPTOR)?;
    linker.func_wrap(MODULE, "fd_read", |_: u32, _: u32, _: u32, _: u32| BAD_DESCRIPTOR)?;
    linker.func_wrap(MODULE, "fd_seek", |_: u32, _: u64, _: u32, _: u32| BAD_DESCRIPTOR)?;
    Ok(())
}

/// Writes to the standard output or the standard error of the node: by lines, to the log's console.
fn write(
    host: &mut Host,
    memory: &mut GuestMemory<'_>,
    descriptor: u32,
    (parts, count): (u32, u32),
    to: u32,
) -> Result<i32, Refusal> {
    if descriptor != 1 && descriptor != 2 {
        return Ok(BAD_DESCRIPTOR);
    }
    let mut written = 0_u32;
    for index in 0..count.min(1024) {
        if written >= MOST_WRITTEN {
            break;
        }
        let part = memory.bytes(parts.wrapping_add(8 * index), 8)?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| part[at + byte]));
        let (address, length) = (word(0), word(4));
        let length = length.min(MOST_WRITTEN - written);
        host.console.write(descriptor, memory.bytes(address, length)?);
        written += length;
    }
    memory.write(to, &written.to_le_bytes())?;
    Ok(SUCCESS)
}

/// Runs a function for a guest, which gets an error number of WASI.
fn answer(
    caller: &mut Caller<'_, Host>,
    function: impl FnOnce(&mut Host, &mut GuestMemory<'_>) -> Result<i32, Refusal>,
) -> wasmtime::Result<i32> {
    let Some(memory) = caller.data().memory else { return Ok(NO_SUCH_FUNCTION) };
    let (bytes, host) = memory.data_and_store_mut(&mut *caller);
    match function(host, &mut GuestMemory(bytes)) {
        Ok(status) => Ok(status),
        Err(Refusal::Error(_, text)) => {
            host.last_error = text;
            Ok(INVALID)
        }
        Err(Refusal::Trap(error)) => Err(error),
    }
}
