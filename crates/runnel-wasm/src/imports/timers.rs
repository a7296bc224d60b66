//! Timers.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::{Caller, Linker};

use super::{MODULE, answer};
use crate::host::{Entity, Event, EventKind, Host};
use crate::refusal::Refusal;

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "create-timer",
        |mut caller: Caller<'_, Host>, node: u32, period: u64, clock: u32, oneshot: u32| {
            answer(&mut caller, |host, _| create_timer(host, node, period, (clock, oneshot != 0)))
        },
    )?;
    linker.func_wrap(MODULE, "cancel-timer", |mut caller: Caller<'_, Host>, timer: u32| {
        answer(&mut caller, |host, _| {
            host.entities.timer(timer)?.cancel();
            host.events.forget(timer);
            Ok(0)
        })
    })?;
    linker.func_wrap(MODULE, "reset-timer", |mut caller: Caller<'_, Host>, timer: u32| {
        answer(&mut caller, |host, _| {
            host.entities.timer(timer)?.reset();
            host.events.forget(timer);
            Ok(0)
        })
    })?;
    Ok(())
}

fn create_timer(
    host: &mut Host,
    node: u32,
    period: u64,
    (clock, oneshot): (u32, bool),
) -> Result<i32, Refusal> {
    let handle = host.entities.next()?;
    let events = Arc::clone(&host.events);
    let expire = move || {
        events.push(Event::new(EventKind::Timer, handle, 0));
    };
    let (node, period) = (host.entities.node(node)?, Duration::from_nanos(period));
    let timer = match (clock, oneshot) {
        (0, false) => node.create_timer(period, expire),
        (0, true) => node.create_oneshot_timer(period, expire),
        (1, false) => node.create_wall_timer(period, expire),
        (1, true) => return Err(Refusal::invalid("a one-shot timer follows ROS time")),
        (other, _) => return Err(Refusal::invalid(format!("{other} is no clock"))),
    };
    Ok(host.entities.add(Entity::Timer(timer)))
}
