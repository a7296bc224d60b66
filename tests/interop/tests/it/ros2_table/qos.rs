//! Every pair of a writer's QoS with a reader's: Runnel and an original match as the original does by itself, and all
//! count incompatible endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use interop::ros2::{Origin, Ros2Graph};
use interop::ros2_checks::expect_line;
use interop::{TIMEOUT, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

use super::Direction;

/// See `peers/rclpy/matrix.py`.
const PROFILES: usize = 72;

/// Time limit of the four programs.
const MATRIX_TIMEOUT: u64 = 4 * TIMEOUT;

/// Whether an implementation has such a program.
pub fn has_all(origin: Origin) -> bool {
    !matches!(origin, Origin::DustDds | Origin::RustDds)
}

/// Tests both directions at once.
pub fn attempt((from, to): Direction) -> String {
    if from != Origin::Runnel {
        return decides_as_original(from, Runnel::Reads);
    }
    decides_as_original(to, Runnel::Writes)
}

/// Runnel's endpoints, next to the original's writers and readers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runnel {
    Writes,
    Reads,
}

/// The printed counts of a program's endpoints.
struct Report {
    /// Number of matched endpoints, by endpoint.
    matched: BTreeMap<usize, usize>,
    /// Number of incompatible endpoints, by endpoint.
    refused: BTreeMap<usize, usize>,
    /// Received messages by tag: number of the writer, and of the reader.
    received: BTreeMap<String, BTreeSet<(usize, usize)>>,
}

impl Report {
    fn by(peer: &Peer) -> Report {
        let mut report =
            Report { matched: BTreeMap::new(), refused: BTreeMap::new(), received: BTreeMap::new() };
        for line in peer.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |word: &str| word.parse::<usize>().ok();
            match words[..] {
                [endpoint, what @ ("matched" | "refused"), count] => {
                    let (Some(endpoint), Some(count)) = (number(endpoint), number(count)) else { continue };
                    let of = if what == "matched" { &mut report.matched } else { &mut report.refused };
                    of.insert(endpoint, count);
                }
                [reader, "heard", tag, writer] => {
                    let (Some(reader), Some(writer)) = (number(reader), number(writer)) else { continue };
                    report.received.entry(tag.to_owned()).or_default().insert((writer, reader));
                }
                _ => {}
            }
        }
        report
    }

    /// Pairs of these readers with writers of a kind that communicate.
    fn pairs(&self, writers: &str) -> BTreeSet<(usize, usize)> {
        self.received.get(writers).cloned().unwrap_or_default()
    }

    fn all_matched(&self) -> usize {
        self.matched.values().sum()
    }

    /// Number of matched and incompatible endpoints, by endpoint.
    fn decided(&self) -> impl Iterator<Item = usize> {
        let count = |of: &BTreeMap<usize, usize>, endpoint| of.get(&endpoint).copied().unwrap_or(0);
        (0..PROFILES).map(move |endpoint| count(&self.matched, endpoint) + count(&self.refused, endpoint))
    }

    /// Whether each endpoint has matched or refused the endpoints of this many programs.
    fn has_decided_on_all(&self, programs: usize) -> bool {
        self.decided().all(|others| others >= programs * PROFILES)
    }
}

/// Returns the number of matching pairs.
fn decides_as_original(original: Origin, runnel: Runnel) -> String {
    let graph = Ros2Graph::new();
    let start = |origin: Origin, role: &str, tag: &str| {
        graph.node(origin, "matrix", &format!("{tag}_{role}"), &["/matrix", role, tag])
    };
    let mut writers = vec![start(original, "writers", "original")];
    let mut readers = vec![start(original, "readers", "original")];
    match runnel {
        Runnel::Writes => writers.push(start(Origin::Runnel, "writers", "runnel")),
        Runnel::Reads => readers.push(start(Origin::Runnel, "readers", "runnel")),
    }
    writers.iter_mut().chain(&mut readers).for_each(|peer| expect_line(peer, "ready"));
    let deadline = deadline_in(MATRIX_TIMEOUT);
    last_endpoints_have_decided(&writers, &readers, deadline);
    let reports = || readers.iter().map(Report::by).collect::<Vec<_>>();
    let of_writers = || writers.iter().map(Report::by).collect::<Vec<_>>();
    while !all_is_reported(&of_writers(), &reports()) {
        assert!(Instant::now() < deadline, "{}", missing_reports(&of_writers(), &reports()));
        sleep(Duration::from_millis(100));
    }
    // Cyclone DDS 0.10 may count one of its own twice that appears while it creates others.
    let of_runnel = if runnel == Runnel::Writes { of_writers() } else { reports() }.remove(1);
    let others = if runnel == Runnel::Writes { readers.len() } else { writers.len() };
    assert!(of_runnel.decided().all(|dealt| dealt == others * PROFILES), "{:?}", of_runnel.refused);
    let reports = reports();
    let truth = reports[0].pairs("original");
    assert!(truth.len() > PROFILES && truth.len() < PROFILES * PROFILES, "{} meet", truth.len());
    let ours = match runnel {
        Runnel::Writes => reports[0].pairs("runnel"),
        Runnel::Reads => reports[1].pairs("original"),
    };
    let differ: Vec<_> = ours.symmetric_difference(&truth).collect();
    assert!(differ.is_empty(), "{} of {} meet otherwise than there: {differ:?}", differ.len(), truth.len());
    format!("{} of {} match", truth.len(), PROFILES * PROFILES)
}

/// Whether writers and readers agree on the matches, each matched pair has communicated, and the others are refused.
fn all_is_reported(writers: &[Report], readers: &[Report]) -> bool {
    let matched = |all: &[Report]| all.iter().map(Report::all_matched).sum::<usize>();
    let received = |report: &Report| report.received.values().map(BTreeSet::len).sum::<usize>();
    matched(writers) == matched(readers)
        && readers.iter().all(|report| received(report) >= report.all_matched())
        && writers.iter().all(|report| report.has_decided_on_all(readers.len()))
        && readers.iter().all(|report| report.has_decided_on_all(writers.len()))
}

fn missing_reports(writers: &[Report], readers: &[Report]) -> String {
    let matched = |all: &[Report]| all.iter().map(Report::all_matched).collect::<Vec<_>>();
    let received = |report: &Report| {
        report.received.iter().map(|(tag, pairs)| format!("{} of {tag}", pairs.len())).collect::<Vec<_>>()
    };
    let received: Vec<_> = readers.iter().map(received).collect();
    let dealt =
        |all: &[Report]| all.iter().map(|report| report.decided().collect::<Vec<_>>()).collect::<Vec<_>>();
    format!(
        "writers are matched with {:?}, readers with {:?}, and have received {received:?}; matched or refused are {:?} by {:?}",
        matched(writers),
        matched(readers),
        dealt(readers),
        dealt(writers)
    )
}

/// The strongest writer is its program's last and matches every reader; likewise the weakest reader matches every
/// writer. Once these have matched all, every earlier endpoint has been discovered.
fn last_endpoints_have_decided(writers: &[Peer], readers: &[Peer], deadline: Instant) {
    let has = |peer: &Peer, endpoint, others: usize| {
        Report::by(peer).matched.get(&endpoint) == Some(&(others * PROFILES))
    };
    wait_until("the last endpoints meet all others", deadline, || {
        writers.iter().all(|peer| has(peer, PROFILES - 1, readers.len()))
            && readers.iter().all(|peer| has(peer, 0, writers.len()))
    });
}
