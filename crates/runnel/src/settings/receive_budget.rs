//! Memory budget for incomplete messages on ROS 1 links.
//!
//! A peer that announces a long message and sends it slowly makes its receiver hold the received part. The budget
//! bounds that over all links of a context: topics, requests and responses of services, UDPROS. Complete messages do
//! not count; their queues have their own limits.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use runnel_core::bounds::{LengthBeyondLimit, MAX_MESSAGE};
use runnel_core::time::Instant;
use runnel_ros1::tcpros::{AcceptedLength, FrameError, IncompleteFrame, LENGTH};

use crate::error::Error;
use crate::settings::variables::variable;

/// Default budget for incomplete messages, in bytes.
const BYTES: usize = 256 << 20;

/// Default time without progress after which an incomplete message is given up. A peer that a debugger or SIGSTOP
/// stops for less keeps its link.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The smallest budget: less would refuse what every node sends, such as its parameters.
const MIN_BYTES: usize = 1 << 20;

/// Links that have delivered less count as if they had delivered this many bytes.
const MIN_DELIVERED: u64 = 1 << 10;

/// The shortest timeout: a message may take several reads.
const MIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Limits for incomplete messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiveLimits {
    /// Bytes of all incomplete messages together.
    pub(crate) bytes: usize,
    /// Longest time without progress of a message.
    pub(crate) timeout: Duration,
}

/// State of a context's memory budget for incomplete ROS 1 messages: see
/// [`Context::receive_budget`](crate::Context::receive_budget).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiveBudget {
    /// Limit of the bytes of all incomplete messages; a longer message is refused.
    pub limit: usize,
    /// Bytes in use now.
    pub in_use: usize,
    /// Longest time without progress of a message.
    pub timeout: Duration,
    /// Messages given up since the beginning, because the budget was exhausted or they made no progress. On TCP the
    /// link was closed.
    pub given_up: u64,
}

/// The budget. The driver owns it, since it reads all links.
#[derive(Clone, Debug)]
pub(crate) struct FrameBudget {
    limits: ReceiveLimits,
    usage: Arc<Usage>,
}

#[derive(Debug, Default)]
struct Usage {
    bytes: AtomicUsize,
    given_up: AtomicU64,
}

/// The share of one link's incomplete message in the budget, released when dropped.
#[derive(Debug)]
pub(crate) struct FrameClaim {
    usage: Arc<Usage>,
    /// The remote address.
    address: IpAddr,
    bytes: usize,
    /// Number of the message within its stream.
    number: u64,
    /// Bytes of the earlier messages in its stream.
    delivered: u64,
    arrived: usize,
    since: Instant,
    progress: Instant,
}

impl ReceiveLimits {
    /// Reads `RUNNEL_RECEIVE_BUDGET`, in megabytes, and `RUNNEL_RECEIVE_TIMEOUT`, in seconds.
    pub(crate) fn read() -> Result<Self, Error> {
        let bytes = variable("RUNNEL_RECEIVE_BUDGET").map_or(Ok(BYTES), |text| bytes(&text))?;
        let timeout = variable("RUNNEL_RECEIVE_TIMEOUT").map_or(Ok(TIMEOUT), |text| timeout(&text))?;
        Ok(Self { bytes, timeout })
    }

    /// The limits with those that the program sets.
    pub(crate) fn with(self, bytes: Option<usize>, timeout: Option<Duration>) -> Self {
        Self {
            bytes: bytes.map_or(self.bytes, |bytes| bytes.max(MIN_BYTES)),
            timeout: timeout.map_or(self.timeout, |timeout| timeout.max(MIN_TIMEOUT)),
        }
    }
}

fn bytes(text: &str) -> Result<usize, Error> {
    let megabytes = text.trim().parse::<f64>().ok().filter(|number| (1.0..=1e6).contains(number));
    megabytes.map(|number| (number * 1e6) as usize).map(|bytes| bytes.max(MIN_BYTES)).ok_or_else(|| {
        Error::Environment {
            variable: "RUNNEL_RECEIVE_BUDGET",
            why: format!("{text:?} is not a number of megabytes from 1 to 1000000"),
        }
    })
}

fn timeout(text: &str) -> Result<Duration, Error> {
    let seconds = text.trim().parse::<f64>().ok().filter(|number| (0.1..=1e6).contains(number));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| Error::Environment {
        variable: "RUNNEL_RECEIVE_TIMEOUT",
        why: format!("{text:?} is not a number of seconds from 0.1 to 1000000"),
    })
}

impl FrameBudget {
    pub(crate) fn new(limits: ReceiveLimits) -> Self {
        Self { limits, usage: Arc::default() }
    }

    pub(crate) fn limits(&self) -> ReceiveLimits {
        self.limits
    }

    /// The longest message that is received.
    pub(crate) fn longest(&self) -> usize {
        self.limits.bytes.min(MAX_MESSAGE)
    }

    /// The accepted length prefixes for messages of a type, which all have `fixed` bytes if that is given.
    pub(crate) fn accepted(&self, fixed: Option<usize>) -> AcceptedLength {
        AcceptedLength::of_type(fixed, self.longest())
    }

    /// An empty claim for a link from this address.
    pub(crate) fn claim(&self, address: IpAddr) -> FrameClaim {
        FrameClaim {
            usage: Arc::clone(&self.usage),
            address: address.to_canonical(),
            bytes: 0,
            number: 0,
            delivered: 0,
            arrived: 0,
            since: Instant(0),
            progress: Instant(0),
        }
    }

    /// True if more is claimed than the limit.
    pub(crate) fn is_short(&self) -> bool {
        self.usage.bytes.load(Ordering::Relaxed) > self.limits.bytes
    }

    /// True if anything is claimed.
    pub(crate) fn is_used(&self) -> bool {
        self.usage.bytes.load(Ordering::Relaxed) > 0
    }

    /// Counts a message that was given up.
    pub(crate) fn count_given_up(&self) {
        self.usage.given_up.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn state(&self) -> ReceiveBudget {
        ReceiveBudget {
            limit: self.limits.bytes,
            in_use: self.usage.bytes.load(Ordering::Relaxed),
            timeout: self.limits.timeout,
            given_up: self.usage.given_up.load(Ordering::Relaxed),
        }
    }
}

impl FrameClaim {
    /// Adjusts the claim after a read. `now` is only called if a message is incomplete.
    pub(crate) fn update(&mut self, frame: Option<IncompleteFrame>, now: impl FnOnce() -> Instant) {
        let Some(frame) = frame else { return self.set(0) };
        let is_new = self.bytes == 0 || self.number != frame.number;
        if is_new || self.arrived != frame.arrived {
            self.progress = now();
        }
        if is_new {
            self.since = self.progress;
        }
        self.number = frame.number;
        self.delivered = frame.delivered;
        self.arrived = frame.arrived;
        // A length prefix without data counts too, so that it has a deadline.
        self.set(frame.reserved.max(LENGTH));
    }

    fn set(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.usage.bytes.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else if bytes < self.bytes {
            self.usage.bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// When bytes of the incomplete message last arrived; `None` if there is none.
    pub(crate) fn last_progress(&self) -> Option<Instant> {
        (self.bytes > 0).then_some(self.progress)
    }

    /// The held memory times its duration, per byte that the link has delivered. So a slow sender costs more than an
    /// image in transfer, whichever message is longer. A link that is reopened whenever it was closed costs more than
    /// one that delivers images.
    fn cost(&self, now: Instant) -> u128 {
        self.bytes as u128 * now.since(self.since).as_nanos() / u128::from(self.delivered.max(MIN_DELIVERED))
    }
}

impl Drop for FrameClaim {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Why the messages of a link cannot be read any further, and what to set if only the budget is too small.
pub(crate) fn explain(error: FrameError) -> String {
    match error {
        FrameError::BeyondLimit(LengthBeyondLimit { claimed, .. }) if claimed <= MAX_MESSAGE => {
            let megabytes = claimed.div_ceil(1_000_000);
            format!("{error}. To receive it, set RUNNEL_RECEIVE_BUDGET={megabytes} or more (megabytes)")
        }
        _ => error.to_string(),
    }
}

/// The link whose message is given up when the budget is exceeded: of the address that holds most bytes, the link with
/// the highest cost. `None` if no link has a claim.
pub(crate) fn loser<'a, K: Copy>(
    claims: impl Iterator<Item = (K, &'a FrameClaim)> + Clone,
    now: Instant,
) -> Option<K> {
    let claims = claims.filter(|(_, claim)| claim.bytes > 0);
    let mut by_address: Vec<(IpAddr, usize)> = Vec::new();
    for (_, claim) in claims.clone() {
        match by_address.iter_mut().find(|(address, _)| *address == claim.address) {
            Some((_, bytes)) => *bytes += claim.bytes,
            None => by_address.push((claim.address, claim.bytes)),
        }
    }
    let (most, _) = by_address.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    let of_largest = claims.filter(|(_, claim)| claim.address == most);
    of_largest.max_by_key(|(_, claim)| (claim.cost(now), claim.bytes)).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant(millis * 1_000_000)
    }

    fn frame(number: u64, arrived: usize) -> Option<IncompleteFrame> {
        Some(IncompleteFrame { number, delivered: 0, arrived, length: 1 << 30, reserved: arrived })
    }

    fn budget(bytes: usize) -> FrameBudget {
        FrameBudget::new(ReceiveLimits { bytes, timeout: TIMEOUT })
    }

    /// A claim of a message that began at `since`.
    fn claim(budget: &FrameBudget, host: u8, bytes: usize, since: u64) -> FrameClaim {
        let mut claim = budget.claim(IpAddr::from([10, 0, 0, host]));
        claim.update(frame(0, bytes), || at(since));
        claim
    }

    fn loser_of(claims: &[FrameClaim], now: u64) -> Option<usize> {
        loser(claims.iter().enumerate(), at(now))
    }

    #[test]
    fn budget_counts_what_all_links_hold() {
        let budget = budget(100);
        let mut claims = [claim(&budget, 1, 60, 0), claim(&budget, 2, 40, 0)];
        assert_eq!((budget.state().in_use, budget.is_short()), (100, false));
        claims[0].update(frame(0, 61), || at(1));
        assert!(budget.is_short());
        claims[0].update(None, || at(2));
        assert_eq!(budget.state().in_use, 40);
        drop(claims);
        assert_eq!((budget.state().in_use, budget.is_used()), (0, false));
    }

    #[test]
    fn address_with_most_bytes_loses_first() {
        let budget = budget(100);
        let slow = |host| claim(&budget, host, 10, 0);
        let image = claim(&budget, 9, 25, 999);
        let claims = [slow(1), image, slow(1), slow(1), slow(2)];
        assert!(matches!(loser_of(&claims, 1000), Some(0 | 2 | 3)));
    }

    #[test]
    fn slow_sender_loses_before_an_image_of_the_same_address() {
        let budget = budget(100);
        let claims = [claim(&budget, 1, 12_000_000, 9_950), claim(&budget, 1, 8_000_000, 0)];
        assert_eq!(loser_of(&claims, 10_000), Some(1));
        let claims = [claim(&budget, 1, 12_000_000, 9_950), claim(&budget, 1, 100, 0)];
        assert_eq!(
            loser_of(&claims, 10_000),
            Some(0),
            "a paused peer that holds next to nothing keeps its link"
        );
        assert_eq!(loser_of(&[], 0), None);
    }

    #[test]
    fn image_link_outlasts_reopened_links() {
        let budget = budget(100);
        let mut camera = claim(&budget, 1, 12_000_000, 0);
        let image = IncompleteFrame { number: 5, delivered: 60_000_000, ..frame(0, 12_000_000).unwrap() };
        camera.update(Some(image), || at(9_500));
        let claims = [camera, claim(&budget, 1, 8_000_000, 9_950), claim(&budget, 1, 8_000_000, 9_990)];
        assert_eq!(loser_of(&claims, 10_000), Some(1));
    }

    #[test]
    fn age_is_counted_per_message() {
        let budget = budget(100);
        let mut stream = claim(&budget, 1, 50, 0);
        stream.update(frame(7, 50), || at(5000));
        let claims = [stream, claim(&budget, 1, 50, 4000)];
        assert_eq!(loser_of(&claims, 6000), Some(1));
    }

    #[test]
    fn only_new_bytes_are_progress() {
        let budget = budget(100);
        let mut claim = claim(&budget, 1, 50, 0);
        claim.update(frame(0, 50), || at(5));
        assert_eq!(claim.last_progress(), Some(at(0)));
        claim.update(frame(0, 51), || at(6));
        assert_eq!(claim.last_progress(), Some(at(6)));
        claim.update(None, || at(7));
        assert_eq!(claim.last_progress(), None);
    }

    #[test]
    fn refused_length_names_variable_that_helps() {
        let refused = |claimed, limit| explain(FrameError::BeyondLimit(LengthBeyondLimit { claimed, limit }));
        let text = refused(300_000_001, BYTES);
        assert!(text.contains("300000001 bytes") && text.contains("268435456"), "{text}");
        assert!(text.contains("RUNNEL_RECEIVE_BUDGET=301 "), "{text}");
        // No budget allows a message beyond the general limit.
        assert!(!refused(MAX_MESSAGE + 1, MAX_MESSAGE).contains("RUNNEL_RECEIVE_BUDGET"));
    }

    #[test]
    fn limits_have_lower_bounds() {
        let set = budget(100).limits().with(Some(0), Some(Duration::ZERO));
        assert_eq!(set, ReceiveLimits { bytes: MIN_BYTES, timeout: MIN_TIMEOUT });
    }

    #[test]
    fn settings_outside_their_range_are_refused() {
        assert_eq!(bytes(" 64 ").unwrap(), 64_000_000);
        assert_eq!(bytes("1").unwrap(), MIN_BYTES);
        assert!(["0", "-1", "nan", "inf", "64M", ""].iter().all(|text| bytes(text).is_err()));
        assert_eq!(timeout("0.5").unwrap(), Duration::from_millis(500));
        assert!(["0", "-1", "nan", "inf", "never"].iter().all(|text| timeout(text).is_err()));
    }
}
