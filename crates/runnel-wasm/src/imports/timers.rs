//! Timers.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::{Caller, Linker};

use super::{MODULE, answer, create};
use crate::host::{Description, Entity, Event, EventKind, Host, TimerDescription};
use crate::refusal::Refusal;

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "create-timer",
        |mut caller: Caller<'_, Host>, node: u32, period: u64, clock: u32, oneshot: u32| {
            let timer = TimerDescription { node, period, clock, is_oneshot: oneshot != 0 };
            answer(&mut caller, |host, _| create(host, Description::Timer(timer)))
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

pub fn create_timer(host: &Host, handle: u32, timer: &TimerDescription) -> Result<Entity, Refusal> {
    let events = Arc::clone(&host.events);
    let expire = move || {
        events.push(Event::new(EventKind::Timer, handle, 0));
    };
    let (node, period) = (host.entities.node(timer.node)?, Duration::from_nanos(timer.period));
    Ok(Entity::Timer(match (timer.clock, timer.is_oneshot) {
        (0, false) => node.create_timer(period, expire),
        (0, true) => node.create_oneshot_timer(period, expire),
        (1, false) => node.create_wall_timer(period, expire),
        (1, true) => return Err(Refusal::invalid("a one-shot timer follows ROS time")),
        (other, _) => return Err(Refusal::invalid(format!("{other} is no clock"))),
    }))
}
