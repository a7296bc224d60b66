//! Sources of time, and clock differences according to message stamps, from discovery for a second.

use std::time::Duration;

use runnel::Time;
use runnel_io::clock;
use runnel_ros1::xmlrpc::Value;

use super::offers::subscribe;
use super::reach::{Hosts, Server, in_parallel, sequential_per_server};
use super::tcpros::Link;
use crate::commands::doctor::found::{ClockFound, GraphFound, Offer, Offered, Stamp, TimeSource};
use crate::error::CliError;
use crate::graph::Graph;

/// The topic of simulated time.
pub const CLOCK: &str = "/clock";

/// How long to listen.
const LISTEN: Duration = Duration::from_secs(1);

/// Most publishers whose stamps are read.
const MOST_STAMPS: usize = 32;

/// Publishers of one server that are read in parallel: fewer than the backlog of a listener.
const LANES: usize = 4;

/// Most times kept of a publisher.
const MOST_TIMES: usize = 10_000;

/// Listens to `/clock`, if a node publishes it.
///
/// # Errors
/// When the master does not answer.
pub fn clock(graph: &Graph<'_>, found: &GraphFound, hosts: &Hosts) -> Result<ClockFound, CliError> {
    let simulated = match graph.param("/use_sim_time")? {
        Some(Value::Bool(simulated)) => Some(simulated),
        Some(number) => number.as_int().map(|number| number != 0),
        None => None,
    };
    let is_clock = |offer: &&Offer| offer.topic == CLOCK;
    let sources: Vec<(&Offer, &Offered)> = found
        .offers
        .iter()
        .filter(is_clock)
        .filter_map(|offer| Some((offer, offer.answer.as_ref().ok()?)))
        .collect();
    let sources = in_parallel(&sources, |(offer, offered)| TimeSource {
        node: offer.node.clone(),
        times: open(offer, offered, hosts).map(times).unwrap_or_default(),
    });
    Ok(ClockFound { simulated, publishers: found.publishers(CLOCK).to_vec(), sources })
}

fn open(offer: &Offer, offered: &Offered, hosts: &Hosts) -> Option<Link> {
    let access = (hosts, &mut Server::default());
    subscribe(&offer.topic, &offered.host, offered.port, access).ok().map(|(_, link)| link)
}

fn times(mut link: Link) -> Vec<Time> {
    let until = clock::monotonic() + LISTEN;
    let next = || link.message::<8>(until).map(|bytes| time(&bytes));
    std::iter::from_fn(next).take(MOST_TIMES).collect()
}

/// A time on the wire: seconds, then nanoseconds, each 32 bits, little-endian.
fn time(bytes: &[u8]) -> Time {
    let word = |at| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word));
    Time { sec: word(0).cast_signed(), nanosec: word(4) }
}

/// Reads the stamp of one message per publisher whose messages begin with a header. Latched messages are old and show
/// nothing.
pub fn stamps(offers: &[Offer], hosts: &Hosts) -> Vec<Stamp> {
    let stamped = |offer| -> Option<(&Offer, &Offered)> {
        let offer: &Offer = offer;
        let offered = offer.answer.as_ref().ok()?;
        (offered.stamped && !offered.latching).then_some((offer, offered))
    };
    let asked: Vec<_> = offers.iter().filter_map(stamped).take(MOST_STAMPS).enumerate().collect();
    // Each waits for a message, so asking one by one would take long.
    let lane = |(index, (_, offered)): &(usize, (&Offer, &Offered))| {
        (offered.host.clone(), offered.port, index % LANES)
    };
    let taken = sequential_per_server(&asked, lane, |(_, (offer, offered)), _| {
        let seconds = offset(open(offer, offered, hosts)?)?;
        Some(Stamp { topic: offer.topic.clone(), node: offer.node.clone(), seconds })
    });
    taken.into_iter().flatten().collect()
}

/// Difference between the next message's stamp and now, in seconds; `None` if it has no stamp.
fn offset(mut link: Link) -> Option<f64> {
    // The sequence number stands before the stamp.
    let begin = link.message::<12>(clock::monotonic() + LISTEN)?;
    let stamp = time(&begin[4..]);
    (!stamp.is_zero()).then(|| (stamp - clock::realtime()).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_from_the_wire() {
        assert_eq!(time(&[1, 1, 0, 0, 7, 0, 0, 0]), Time { sec: 257, nanosec: 7 });
    }
}
