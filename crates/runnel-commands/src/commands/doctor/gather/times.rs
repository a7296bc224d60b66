//! Who tells the time, and what the stamps of messages say about clocks: by listening for a second.

use std::time::Duration;

use runnel::Time;
use runnel::io::clock;
use runnel::ros1::xmlrpc::Value;

use super::offers::subscribe;
use super::reach::{Hosts, Server, one_by_one_per_server, side_by_side};
use super::tcpros::Link;
use crate::commands::doctor::found::{ClockFound, GraphFound, Heard, Offer, Offered, Stamp};
use crate::error::CliError;
use crate::graph::Graph;

/// The topic that tells simulated time.
pub const CLOCK: &str = "/clock";

/// How long is listened.
const LISTEN: Duration = Duration::from_secs(1);

/// From how many publishers stamps are taken.
const MOST_STAMPS: usize = 32;

/// From how many publishers of one server at a time: fewer than a listener has room for.
const LANES: usize = 4;

/// How many times of a publisher are kept.
const MOST_TIMES: usize = 10_000;

/// Listens to `/clock`, if somebody publishes it.
///
/// # Errors
/// When the master does not answer.
pub fn clock(graph: &Graph<'_>, found: &GraphFound, hosts: &Hosts) -> Result<ClockFound, CliError> {
    let simulated = match graph.param("/use_sim_time")? {
        Some(Value::Bool(simulated)) => Some(simulated),
        Some(number) => number.as_int().map(|number| number != 0),
        None => None,
    };
    let tells = |offer: &&Offer| offer.topic == CLOCK;
    let told: Vec<(&Offer, &Offered)> = found
        .offers
        .iter()
        .filter(tells)
        .filter_map(|offer| Some((offer, offer.said.as_ref().ok()?)))
        .collect();
    let heard = side_by_side(&told, |(offer, said)| Heard {
        node: offer.node.clone(),
        times: open(offer, said, hosts).map(times).unwrap_or_default(),
    });
    Ok(ClockFound { simulated, publishers: found.publishers(CLOCK).to_vec(), heard })
}

fn open(offer: &Offer, said: &Offered, hosts: &Hosts) -> Option<Link> {
    let asking = (hosts, &mut Server::default());
    subscribe(&offer.topic, &said.host, said.port, asking).ok().map(|(_, link)| link)
}

fn times(mut link: Link) -> Vec<Time> {
    let until = clock::monotonic() + LISTEN;
    let next = || link.message::<8>(until).map(|bytes| time(&bytes));
    std::iter::from_fn(next).take(MOST_TIMES).collect()
}

/// A time as it travels: seconds, then nanoseconds, each 32 bits, little-endian.
fn time(bytes: &[u8]) -> Time {
    let word = |at| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word));
    Time { sec: word(0).cast_signed(), nanosec: word(4) }
}

/// Takes the stamp of a message of each publisher whose messages begin with a header. What is told to whoever comes
/// late is old, and says nothing.
pub fn stamps(offers: &[Offer], hosts: &Hosts) -> Vec<Stamp> {
    let stamped = |offer| -> Option<(&Offer, &Offered)> {
        let offer: &Offer = offer;
        let said = offer.said.as_ref().ok()?;
        (said.stamped && !said.latching).then_some((offer, said))
    };
    let asked: Vec<_> = offers.iter().filter_map(stamped).take(MOST_STAMPS).enumerate().collect();
    // Each waits for a message, so that one by one would take long.
    let lane =
        |(index, (_, said)): &(usize, (&Offer, &Offered))| (said.host.clone(), said.port, index % LANES);
    let taken = one_by_one_per_server(&asked, lane, |(_, (offer, said)), _| {
        let seconds = offset(open(offer, said, hosts)?)?;
        Some(Stamp { topic: offer.topic.clone(), node: offer.node.clone(), seconds })
    });
    taken.into_iter().flatten().collect()
}

/// How far the next message's stamp lies from now; nothing if it is not set.
fn offset(mut link: Link) -> Option<f64> {
    // The number of the message stands before its stamp.
    let begin = link.message::<12>(clock::monotonic() + LISTEN)?;
    let stamp = time(&begin[4..]);
    (!stamp.is_zero()).then(|| (stamp - clock::realtime()).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_travels() {
        assert_eq!(time(&[1, 1, 0, 0, 7, 0, 0, 0]), Time { sec: 257, nanosec: 7 });
    }
}
