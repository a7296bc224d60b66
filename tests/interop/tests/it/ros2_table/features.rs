//! What goes over the wire on one host, between Runnel and each other implementation, in both directions.

use interop::ros2::Origin;
use interop::ros2_talks::{late_listener_hears, sizes_arrive, sizes_arrive_now_and_then, understands};
use interop::sheet::{Cell, PASS, Row, Sheet};

use super::{Way, column, other, qos, refused, types, ways};

/// Below the length of a datagram, at it and above, and far above.
fn sizes() -> Vec<usize> {
    let edge = (65_000..=65_535).step_by(5);
    [0, 1, 1000].into_iter().chain(edge).chain([100_000, 1_000_000, 8_388_608]).collect()
}

/// What fits into one datagram of anybody's.
const SHORT: [usize; 3] = [0, 1, 1000];

/// What best-effort messages have.
const UNREPEATED: [usize; 7] = [0, 1, 1000, 65_000, 65_535, 100_000, 1_000_000];

/// A feature: what it is called, and how it is tried; what stands there if it works, nothing if it is not to be had.
type Feature = (&'static str, fn(Way) -> Option<fn(Way) -> String>);

const FEATURES: [Feature; 7] = [
    ("topics: text, and an array of bytes", |_| Some(talk)),
    ("arrays of 0 B to 8 MiB, reliable", |_| Some(all_sizes)),
    ("arrays of 0 B to 1 MB, best effort", |_| Some(some_sizes)),
    ("the last messages of a transient-local topic", |_| Some(late)),
    ("every pair of QoS", |way| qos::has_all(other(way)).then_some(qos::attempt as fn(Way) -> String)),
    ("policies reported as incompatible", |way| {
        refused::has_all(other(way)).then_some(refused::attempt as fn(Way) -> String)
    }),
    ("every standard type", |way| types::has_all(other(way)).then_some(types::attempt as fn(Way) -> String)),
];

pub fn sheet() -> Sheet<()> {
    let row = |(title, feature): &Feature| {
        let cell = |way: &Way| {
            let (way, attempt) = (*way, feature(*way)?);
            Some(Cell {
                name: format!("{title}, {}", column(way)),
                attempt: Box::new(move |()| attempt(way)),
            })
        };
        Row { title: (*title).to_owned(), cells: ways().iter().map(cell).collect() }
    };
    Sheet {
        title: "On one host",
        text: TEXT,
        columns: ways().iter().map(|way| column(*way)).collect(),
        rows: FEATURES.iter().map(row).collect(),
    }
}

const TEXT: &str = "\
The program on the left of the arrow publishes. Every message must arrive byte for byte, reliable ones all and in order.

- *Every pair of QoS*: each combination of reliability, durability, deadline (three), liveliness and its lease (three) at the
  writer and at the reader. A pair must match exactly when it matches between two programs of the other
  implementation. Each end counts the pairs that it refused.
- *Policies reported as incompatible*: for each set of policies that a writer offers too little of, both ends must name the
  same policy as two rclpy programs do.
- *to 1 kB*: dust_dds sometimes corrupts messages in several datagrams, from any sender.
- *to 100 kB*: RustDDS may stop receiving from a writer once it has lost a part of a best-effort message of 1 MB.";

fn talk((from, to): Way) -> String {
    understands(from, to, if other((from, to)) == Origin::DustDds { "1000" } else { "100000" });
    PASS.to_owned()
}

fn all_sizes((from, to): Way) -> String {
    if other((from, to)) == Origin::DustDds {
        sizes_arrive(from, to, &SHORT);
        return "to 1 kB".to_owned();
    }
    sizes_arrive(from, to, &sizes());
    PASS.to_owned()
}

fn some_sizes((from, to): Way) -> String {
    if other((from, to)) == Origin::DustDds {
        sizes_arrive_now_and_then(from, to, &SHORT);
        return "to 1 kB".to_owned();
    }
    if to == Origin::RustDds {
        sizes_arrive_now_and_then(from, to, &UNREPEATED[..6]);
        return "to 100 kB".to_owned();
    }
    sizes_arrive_now_and_then(from, to, &UNREPEATED);
    PASS.to_owned()
}

fn late((from, to): Way) -> String {
    late_listener_hears(from, to);
    PASS.to_owned()
}
