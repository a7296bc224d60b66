//! Every pair of a writer's QoS with a reader's: Runnel and an original decide as the original does by itself, and all count
//! whom they have refused.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use interop::ros2::{Origin, Ros2Graph};
use interop::ros2_talks::says;
use interop::{PATIENCE, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

use super::Way;

/// See `peers/rclpy/matrix.py`.
const PROFILES: usize = 72;

/// How long the four may take.
const PATIENT: u64 = 4 * PATIENCE;

/// Who has a program for it.
pub fn has_all(origin: Origin) -> bool {
    !matches!(origin, Origin::DustDds | Origin::RustDds)
}

/// Tried for both ways at once.
pub fn attempt((from, to): Way) -> String {
    if from != Origin::Runnel {
        return decides_as_original(from, Runnel::Reads);
    }
    decides_as_original(to, Runnel::Writes)
}

/// What Runnel has beside the original's writers and readers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runnel {
    Writes,
    Reads,
}

/// What a program's endpoints have told.
struct Told {
    /// With how many others each is matched.
    matched: BTreeMap<usize, usize>,
    /// How many others each has refused.
    refused: BTreeMap<usize, usize>,
    /// Which messages each reader has heard: whose writer, of which number.
    heard: BTreeMap<String, BTreeSet<(usize, usize)>>,
}

impl Told {
    fn by(peer: &Peer) -> Told {
        let mut told = Told { matched: BTreeMap::new(), refused: BTreeMap::new(), heard: BTreeMap::new() };
        for line in peer.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |word: &str| word.parse::<usize>().ok();
            match words[..] {
                [endpoint, what @ ("matched" | "refused"), count] => {
                    let (Some(endpoint), Some(count)) = (number(endpoint), number(count)) else { continue };
                    let of = if what == "matched" { &mut told.matched } else { &mut told.refused };
                    of.insert(endpoint, count);
                }
                [reader, "heard", tag, writer] => {
                    let (Some(reader), Some(writer)) = (number(reader), number(writer)) else { continue };
                    told.heard.entry(tag.to_owned()).or_default().insert((writer, reader));
                }
                _ => {}
            }
        }
        told
    }

    /// Which pairs meet of a kind of writers and these readers.
    fn pairs(&self, writers: &str) -> BTreeSet<(usize, usize)> {
        self.heard.get(writers).cloned().unwrap_or_default()
    }

    fn all_matched(&self) -> usize {
        self.matched.values().sum()
    }

    /// How many others each endpoint has dealt with.
    fn dealt_with(&self) -> impl Iterator<Item = usize> {
        let count = |of: &BTreeMap<usize, usize>, endpoint| of.get(&endpoint).copied().unwrap_or(0);
        (0..PROFILES).map(move |endpoint| count(&self.matched, endpoint) + count(&self.refused, endpoint))
    }

    /// Whether each endpoint has met or refused each of so many programs' others.
    fn dealt_with_all(&self, programs: usize) -> bool {
        self.dealt_with().all(|others| others >= programs * PROFILES)
    }
}

/// Gives how many pairs meet.
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
    writers.iter_mut().chain(&mut readers).for_each(|peer| says(peer, "ready"));
    let deadline = deadline_in(PATIENT);
    all_have_dealt_with_all(&writers, &readers, deadline);
    let told = || readers.iter().map(Told::by).collect::<Vec<_>>();
    let of_writers = || writers.iter().map(Told::by).collect::<Vec<_>>();
    while !all_is_told(&of_writers(), &told()) {
        assert!(Instant::now() < deadline, "{}", what_lacks(&of_writers(), &told()));
        sleep(Duration::from_millis(100));
    }
    // Cyclone DDS 0.10 may count one of its own twice that comes while it makes others.
    let of_runnel = if runnel == Runnel::Writes { of_writers() } else { told() }.remove(1);
    let others = if runnel == Runnel::Writes { readers.len() } else { writers.len() };
    assert!(of_runnel.dealt_with().all(|dealt| dealt == others * PROFILES), "{:?}", of_runnel.refused);
    let told = told();
    let truth = told[0].pairs("original");
    assert!(truth.len() > PROFILES && truth.len() < PROFILES * PROFILES, "{} meet", truth.len());
    let ours = match runnel {
        Runnel::Writes => told[0].pairs("runnel"),
        Runnel::Reads => told[1].pairs("original"),
    };
    let differ: Vec<_> = ours.symmetric_difference(&truth).collect();
    assert!(differ.is_empty(), "{} of {} meet otherwise than there: {differ:?}", differ.len(), truth.len());
    format!("{} of {} match", truth.len(), PROFILES * PROFILES)
}

/// Whether writers and readers agree how many have met, each of these has been heard, and the rest are refused.
fn all_is_told(writers: &[Told], readers: &[Told]) -> bool {
    let matched = |all: &[Told]| all.iter().map(Told::all_matched).sum::<usize>();
    let heard = |told: &Told| told.heard.values().map(BTreeSet::len).sum::<usize>();
    matched(writers) == matched(readers)
        && readers.iter().all(|told| heard(told) >= told.all_matched())
        && writers.iter().all(|told| told.dealt_with_all(readers.len()))
        && readers.iter().all(|told| told.dealt_with_all(writers.len()))
}

fn what_lacks(writers: &[Told], readers: &[Told]) -> String {
    let matched = |all: &[Told]| all.iter().map(Told::all_matched).collect::<Vec<_>>();
    let heard = |told: &Told| {
        told.heard.iter().map(|(tag, pairs)| format!("{} of {tag}", pairs.len())).collect::<Vec<_>>()
    };
    let heard: Vec<_> = readers.iter().map(heard).collect();
    let dealt =
        |all: &[Told]| all.iter().map(|told| told.dealt_with().collect::<Vec<_>>()).collect::<Vec<_>>();
    format!(
        "writers are matched with {:?}, readers with {:?}, and have heard {heard:?}; met or refused are {:?} by {:?}",
        matched(writers),
        matched(readers),
        dealt(readers),
        dealt(writers)
    )
}

/// The strongest writer is the last that its program makes, and meets every reader; so the weakest reader meets every writer.
/// Once they have met all, everybody has heard of all before.
fn all_have_dealt_with_all(writers: &[Peer], readers: &[Peer], deadline: Instant) {
    let has = |peer: &Peer, endpoint, others: usize| {
        Told::by(peer).matched.get(&endpoint) == Some(&(others * PROFILES))
    };
    wait_until("the last endpoints meet all others", deadline, || {
        writers.iter().all(|peer| has(peer, PROFILES - 1, readers.len()))
            && readers.iter().all(|peer| has(peer, 0, writers.len()))
    });
}
