//! How a spinning thread waits for messages.

use std::io;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use crate::data::ReadyQueue;
use crate::driver::Driver;

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
    /// The pause before the driver is taken, so that others may have it meanwhile. Ends when a callback is due.
    pub(crate) fn pause(self, until: Option<Instant>, ready: &ReadyQueue) {
        let Self::Period(period) = self else { return };
        let left = until.map(|until| until.since(clock::monotonic()));
        ready.follow(Some(left.map_or(period, |left| left.min(period))));
    }

    /// One turn of the driver. Does not sleep if a callback is due.
    pub(crate) fn turn(
        self,
        driver: &mut Driver,
        until: Option<Instant>,
        ready: &ReadyQueue,
    ) -> io::Result<bool> {
        let now = Instant::default();
        match self {
            Self::Block => driver.turn(if ready.sleep_if_empty() { until } else { Some(now) }),
            Self::Spin | Self::Period(_) => driver.turn(Some(now)),
            Self::LookFirst(span) => look_first(span, driver, until, ready),
        }
    }
}

fn look_first(
    span: Duration,
    driver: &mut Driver,
    until: Option<Instant>,
    ready: &ReadyQueue,
) -> io::Result<bool> {
    let start = clock::monotonic();
    let look = until.map_or(start + span, |until| until.min(start + span));
    while clock::monotonic() < look {
        driver.turn(Some(Instant::default()))?;
        if ready.is_due() {
            return Ok(true);
        }
    }
    driver.turn(if ready.sleep_if_empty() { until } else { Some(Instant::default()) })
}
