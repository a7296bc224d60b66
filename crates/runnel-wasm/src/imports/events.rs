//! The event loop.

use std::time::Duration;

use runnel_io::clock;
use wasmtime::{Caller, Linker};

use super::{MODULE, answer};
use crate::host::{
    Event, EventKind, GuestMemory, Host, Suspended, Wait, other_function, poll_former_host, resume, suspend,
};
use crate::refusal::{Refusal, Refused};

/// Longest wait at a time.
const LONGEST: Duration = Duration::from_secs(3600);

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(MODULE, "wait", wait)?;
    linker.func_wrap(MODULE, "is-shutting-down", |mut caller: Caller<'_, Host>| {
        i32::from(caller.data_mut().is_ending())
    })?;
    linker.func_wrap(MODULE, "last-error", |mut caller: Caller<'_, Host>, to: u32, capacity: u32| {
        answer(&mut caller, |host, memory| memory.write_bytes(to, capacity, host.last_error.as_bytes()))
    })?;
    Ok(())
}

fn wait(
    mut caller: Caller<'_, Host>,
    timeout: u64,
    record: u32,
    to: u32,
    capacity: u32,
) -> wasmtime::Result<i32> {
    let wait = match resume(&mut caller)? {
        None => Wait { left: timeout, record, to, capacity },
        Some(Suspended::Wait(wait)) => wait,
        Some(_) => return Err(other_function()),
    };
    match next(caller.data_mut(), wait.left) {
        Ok(Next::Event(event)) => answer(&mut caller, |host, memory| {
            deliver(host, memory, event, (wait.record, wait.to, wait.capacity))
        }),
        Ok(Next::Suspend { left }) => {
            suspend(&mut caller, Suspended::Wait(Wait { left, ..wait }))?;
            // The guest's functions return without a look at it.
            Ok(0)
        }
        Err(refusal) => answer(&mut caller, |_, _| Err(refusal)),
    }
}

/// How a wait ends.
enum Next {
    Event(Event),
    /// The guest is to be suspended, with so many nanoseconds left to wait.
    Suspend {
        left: u64,
    },
}

/// Waits for the next event. The guest rests meanwhile.
fn next(host: &mut Host, timeout: u64) -> Result<Next, Refusal> {
    host.pace.rest().map_err(Refusal::stopped)?;
    let next = wait_for_event(host, timeout);
    host.pace.run();
    host.check_end()?;
    next
}

fn wait_for_event(host: &mut Host, timeout: u64) -> Result<Next, Refusal> {
    if host.pace.is_suspension_wanted() {
        return Ok(Next::Suspend { left: timeout });
    }
    poll_former_host(host);
    if let Some(event) = host.events.pop() {
        return Ok(Next::Event(event));
    }
    let until = clock::monotonic() + Duration::from_nanos(timeout).min(LONGEST * 24 * 365);
    loop {
        if host.pace.is_stopped() || !host.context.ok() {
            return ending(host).map(Next::Event);
        }
        let now = clock::monotonic();
        let due = host.former.as_ref().and_then(|former| former.due()).map(|due| due.since(now));
        host.executor.spin_once(until.since(now).min(LONGEST).min(due.unwrap_or(LONGEST)))?;
        poll_former_host(host);
        if host.pace.is_suspension_wanted() {
            let left = until.since(clock::monotonic()).as_nanos() as u64;
            return Ok(Next::Suspend { left: if timeout == u64::MAX { timeout } else { left } });
        }
        if let Some(event) = host.events.pop() {
            return Ok(Next::Event(event));
        }
        if clock::monotonic() >= until {
            return Ok(Next::Event(Event::new(EventKind::None, 0, 0)));
        }
    }
}

/// The event by which the guest learns that it is to end, once.
fn ending(host: &mut Host) -> Result<Event, Refusal> {
    host.begin_end();
    if std::mem::replace(&mut host.knows_of_end, true) {
        return Err(Refusal::new(Refused::ShuttingDown, "the node is to end"));
    }
    Ok(Event::new(EventKind::Shutdown, 0, 0))
}

fn deliver(
    host: &mut Host,
    memory: &mut GuestMemory<'_>,
    event: Event,
    (record, to, capacity): (u32, u32, u32),
) -> Result<i32, Refusal> {
    let fits = event.payload.len() <= capacity as usize;
    let written = memory.write(record, &event.record());
    let length = written.and_then(|()| memory.write_bytes(to, capacity, &event.payload))?;
    if fits {
        host.events.recycle(event.payload);
    } else {
        host.events.put_back(event);
    }
    Ok(length)
}
