//! The quality of the link to a host, by TCP connections to the address where it accepts nodes.
//!
//! A connection needs one round trip. One that is not made within a time-out counts as lost: the kernel sends its first packet
//! again after one second only. Nothing is sent on it.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::streaming::lock;

/// Time between two probes.
pub const PERIOD: Duration = Duration::from_secs(1);

const TIMEOUT: Duration = Duration::from_millis(900);

/// Probes that count.
const WINDOW: usize = 20;

/// Answered probes of which the median is the round-trip time.
const MEDIAN_OF: usize = 5;

/// The quality of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// In seconds; `None` if no probe of the window was answered.
    pub round_trip: Option<f64>,
    /// The share of probes that were lost.
    pub loss: f64,
    /// When the last probe ended.
    pub at: Instant,
}

/// Probes of one host, on a thread of their own, which ends with this.
pub struct Probe {
    quality: Arc<Mutex<Option<Quality>>>,
    ends: Arc<AtomicBool>,
}

impl Probe {
    /// Begins to probe a host.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(address: &str) -> std::io::Result<Self> {
        let probe = Self { quality: Arc::default(), ends: Arc::default() };
        let (quality, ends, address) =
            (Arc::clone(&probe.quality), Arc::clone(&probe.ends), address.to_owned());
        thread::Builder::new().name("runnel-probe".into()).spawn(move || {
            let mut window = Window::default();
            while !ends.load(Ordering::Relaxed) {
                let begun = Instant::now();
                window.add(round_trip(&address));
                *lock(&quality) = window.quality(Instant::now());
                thread::sleep(PERIOD.saturating_sub(begun.elapsed()));
            }
        })?;
        Ok(probe)
    }

    /// What the last probes have given.
    pub fn quality(&self) -> Option<Quality> {
        *lock(&self.quality)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// `None` if the host did not answer, or if it refused.
fn round_trip(address: &str) -> Option<Duration> {
    let address: SocketAddr = address.to_socket_addrs().ok()?.next()?;
    let begun = Instant::now();
    TcpStream::connect_timeout(&address, TIMEOUT).ok()?;
    Some(begun.elapsed())
}

/// The last probes, the newest one last. `None` is a lost one.
#[derive(Debug, Default)]
struct Window {
    probes: VecDeque<Option<Duration>>,
}

impl Window {
    fn add(&mut self, probe: Option<Duration>) {
        if self.probes.len() == WINDOW {
            self.probes.pop_front();
        }
        self.probes.push_back(probe);
    }

    fn quality(&self, at: Instant) -> Option<Quality> {
        let lost = self.probes.iter().filter(|probe| probe.is_none()).count();
        let mut last: Vec<Duration> = self.probes.iter().rev().flatten().take(MEDIAN_OF).copied().collect();
        last.sort();
        let round_trip = last.get(last.len() / 2).map(Duration::as_secs_f64);
        let loss = lost as f64 / self.probes.len() as f64;
        (!self.probes.is_empty()).then_some(Quality { round_trip, loss, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_is_that_of_the_last_probes() {
        let mut window = Window::default();
        let at = Instant::now();
        assert_eq!(window.quality(at), None);
        window.add(None);
        assert_eq!(window.quality(at), Some(Quality { round_trip: None, loss: 1.0, at }));
        for milliseconds in [900, 900, 900, 1, 4, 2, 400, 5] {
            window.add(Some(Duration::from_millis(milliseconds)));
        }
        let Quality { round_trip, loss, .. } = window.quality(at).unwrap();
        assert_eq!((round_trip, loss), (Some(0.004), 1.0 / 9.0), "the median of the last five");
        (0..WINDOW).for_each(|_| window.add(Some(Duration::ZERO)));
        assert_eq!(window.quality(at).unwrap().loss, 0.0);
    }

    #[test]
    fn host_that_accepts_connections_is_measured() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        assert!(round_trip(&address).unwrap() < TIMEOUT);
        drop(listener);
        assert_eq!(round_trip(&address), None);
        assert_eq!(round_trip("no such host:1"), None);
    }
}
