//! Features on one host between Runnel and each other implementation, in both directions.

use interop::ros2::Origin;
use interop::ros2_checks::{check_best_effort_sizes, check_exchange, check_late_listener, check_sizes};
use interop::sheet::{Cell, PASS, Row, Sheet};

use super::{Direction, actions, column, directions, other, qos, refused, types};

/// Below the size of a datagram, at it and above, and far above.
fn sizes() -> Vec<usize> {
    let edge = (65_000..=65_535).step_by(5);
    [0, 1, 1000].into_iter().chain(edge).chain([100_000, 1_000_000, 8_388_608]).collect()
}

/// Sizes that fit into one datagram of every implementation.
const SHORT: [usize; 3] = [0, 1, 1000];

/// Sizes of best-effort messages.
const UNREPEATED: [usize; 7] = [0, 1, 1000, 65_000, 65_535, 100_000, 1_000_000];

/// A feature: its name, and its test, which returns the cell's text; `None` if not available.
type Feature = (&'static str, fn(Direction) -> Option<fn(Direction) -> String>);

const FEATURES: [Feature; 9] = [
    ("topics: text, and an array of bytes", |_| Some(exchange_messages)),
    ("arrays of 0 B to 8 MiB, reliable", |_| Some(all_sizes)),
    ("arrays of 0 B to 1 MB, best effort", |_| Some(some_sizes)),
    ("the last messages of a transient-local topic", |_| Some(late)),
    ("every pair of QoS", |direction| {
        qos::has_all(other(direction)).then_some(qos::attempt as fn(Direction) -> String)
    }),
    ("policies reported as incompatible", |direction| {
        refused::has_all(other(direction)).then_some(refused::attempt as fn(Direction) -> String)
    }),
    ("every standard type", |direction| {
        types::has_all(other(direction)).then_some(types::attempt as fn(Direction) -> String)
    }),
    ("actions: feedback, cancellation, and every end", |direction| {
        actions::has(direction).then_some(actions::attempt as fn(Direction) -> String)
    }),
    ("every action type of Runnel", |direction| {
        actions::has_types(direction).then_some(actions::attempt_types as fn(Direction) -> String)
    }),
];

pub fn sheet() -> Sheet<()> {
    let row = |(title, feature): &Feature| {
        let cell = |direction: &Direction| {
            let (direction, attempt) = (*direction, feature(*direction)?);
            Some(Cell {
                name: format!("{title}, {}", column(direction)),
                attempt: Box::new(move |()| attempt(direction)),
            })
        };
        Row { title: (*title).to_owned(), cells: directions().iter().map(cell).collect() }
    };
    Sheet {
        title: "On one host",
        text: TEXT,
        columns: directions().iter().map(|direction| column(*direction)).collect(),
        rows: FEATURES.iter().map(row).collect(),
    }
}

const TEXT: &str = "\
The program on the left of the arrow publishes. Every message must arrive byte for byte, reliable ones all and in order.

- *Every pair of QoS*: each combination of reliability, durability, deadline (three), liveliness and its lease (three) at the
  writer and at the reader. A pair must match exactly when it matches between two programs of the other
  implementation. Each end counts the pairs that it refused.
- *Policies reported as incompatible*: for each set of policies that makes a writer incompatible, both ends must name the
  same policy as two rclpy programs do.
- *Actions*: the program on the left of the arrow sends the goals. No wheel of Jazzy or Kilted has the action types that come
  with Runnel, so they are generated for Kilted from the same definitions.
- *to 1 kB*: dust_dds sometimes corrupts messages in several datagrams, from any sender.
- *to 100 kB*: RustDDS may stop receiving from a writer once it has lost a part of a best-effort message of 1 MB.";

fn exchange_messages((from, to): Direction) -> String {
    check_exchange(from, to, if other((from, to)) == Origin::DustDds { "1000" } else { "100000" });
    PASS.to_owned()
}

fn all_sizes((from, to): Direction) -> String {
    if other((from, to)) == Origin::DustDds {
        check_sizes(from, to, &SHORT);
        return "to 1 kB".to_owned();
    }
    check_sizes(from, to, &sizes());
    PASS.to_owned()
}

fn some_sizes((from, to): Direction) -> String {
    if other((from, to)) == Origin::DustDds {
        check_best_effort_sizes(from, to, &SHORT);
        return "to 1 kB".to_owned();
    }
    if to == Origin::RustDds {
        check_best_effort_sizes(from, to, &UNREPEATED[..6]);
        return "to 100 kB".to_owned();
    }
    check_best_effort_sizes(from, to, &UNREPEATED);
    PASS.to_owned()
}

fn late((from, to): Direction) -> String {
    check_late_listener(from, to);
    PASS.to_owned()
}
