//! How a spinning thread waits for messages.

use std::io;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use crate::driver::{Driver, PollOutcome};
use crate::ready::ReadyQueue;

/// How a spinning thread waits for messages: less latency for more CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PollingPolicy {
    /// Sleep until something arrives. Costs nothing while idle.
    #[default]
    Block,
    /// Look again and again for this long before sleeping.
    LookFirst(Duration),
    /// Never sleep. Takes a whole CPU.
    Spin,
    /// Sleep for this long between looks, so that messages are taken in groups.
    Period(Duration),
}

impl PollingPolicy {
    /// One turn of the driver. Does not sleep if a callback is due.
    pub(crate) fn turn(
        self,
        driver: &mut Driver,
        until: Option<Instant>,
        ready: &ReadyQueue,
        is_wanted: impl Fn() -> bool,
    ) -> io::Result<PollOutcome> {
        match self {
            Self::Block => block(driver, until, ready),
            Self::Spin => {
                driver.sessions.poll_rings(|| is_wanted() || ready.is_due());
                driver.turn(Some(Instant::default()))
            }
            Self::Period(_) => driver.turn(Some(Instant::default())),
            Self::LookFirst(span) => look_first(span, driver, until, ready, is_wanted),
        }
    }
}

fn block(driver: &mut Driver, until: Option<Instant>, ready: &ReadyQueue) -> io::Result<PollOutcome> {
    driver.turn(if ready.sleep_if_empty() { until } else { Some(Instant::default()) })
}

fn look_first(
    span: Duration,
    driver: &mut Driver,
    until: Option<Instant>,
    ready: &ReadyQueue,
    is_wanted: impl Fn() -> bool,
) -> io::Result<PollOutcome> {
    let start = clock::monotonic();
    let look = until.map_or(start + span, |until| until.min(start + span));
    while clock::monotonic() < look {
        driver.sessions.poll_rings(|| is_wanted() || ready.is_due());
        let turned = driver.turn(Some(Instant::default()))?;
        // A look takes the waker's word for it: a wait after it would never hear that again.
        if turned.woken || ready.is_due() || is_wanted() {
            return Ok(turned);
        }
    }
    block(driver, until, ready)
}
