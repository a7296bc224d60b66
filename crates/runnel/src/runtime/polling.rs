//! How a spinning thread waits for messages.

use std::io;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use crate::driver::{Driver, PollOutcome};
use crate::ready::ReadyQueue;
use crate::sync::has_queued_wakes;

/// How a spinning thread waits for messages. Lower latency costs more CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PollingPolicy {
    /// Sleep until something arrives. Uses no CPU time while idle.
    #[default]
    Block,
    /// Poll in a loop for this long before sleeping.
    LookFirst(Duration),
    /// Poll in a loop without sleeping. Uses a whole CPU.
    Spin,
    /// Sleep for this long between polls, so that messages are received in groups.
    Period(Duration),
}

impl PollingPolicy {
    /// Polls the driver once. Does not sleep if a callback is due.
    pub(crate) fn poll_once(
        self,
        driver: &mut Driver,
        until: Option<Instant>,
        ready: &ReadyQueue,
        is_wanted: impl Fn() -> bool,
    ) -> io::Result<PollOutcome> {
        match self {
            Self::Block => block(driver, until, ready),
            Self::Spin => {
                driver.ipc_connections.poll_rings(|| is_wanted() || ready.is_due());
                driver.poll_once(Some(Instant::default()))
            }
            Self::Period(_) => driver.poll_once(Some(Instant::default())),
            Self::LookFirst(span) => poll_then_block(span, driver, until, ready, is_wanted),
        }
    }
}

fn block(driver: &mut Driver, until: Option<Instant>, ready: &ReadyQueue) -> io::Result<PollOutcome> {
    driver.poll_once(if ready.sleep_if_empty() { until } else { Some(Instant::default()) })
}

fn poll_then_block(
    span: Duration,
    driver: &mut Driver,
    until: Option<Instant>,
    ready: &ReadyQueue,
    is_wanted: impl Fn() -> bool,
) -> io::Result<PollOutcome> {
    let start = clock::monotonic();
    let poll_until = until.map_or(start + span, |until| until.min(start + span));
    while clock::monotonic() < poll_until {
        driver.ipc_connections.poll_rings(|| is_wanted() || ready.is_due());
        let outcome = driver.poll_once(Some(Instant::default()))?;
        // A poll consumes a wake. A wait after it would miss that wake. Tasks are woken once the driver is unlocked.
        if outcome.woken || ready.is_due() || is_wanted() || has_queued_wakes() {
            return Ok(outcome);
        }
    }
    block(driver, until, ready)
}
