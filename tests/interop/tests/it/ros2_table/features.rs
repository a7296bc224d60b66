//! Features on one host between Runnel and each other implementation, in both directions.

use interop::ros2::{Distro, Origin};
use interop::ros2_checks::{check_best_effort_sizes, check_exchange, check_late_listener, check_sizes};
use interop::sheet::{Attempt, Cell, PASS, Row, Sheet};

use super::{Direction, actions, column, directions, other, qos, refused, types};
use crate::{ros2_logging, ros2_node, ros2_node_services, ros2_parameters, tf};

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

const FEATURES: [Feature; 10] = [
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
    ("every service type of Runnel", |direction| {
        actions::has(direction).then_some(actions::attempt_service_types as fn(Direction) -> String)
    }),
    ("actions: feedback, cancellation, and every end", |direction| {
        actions::has(direction).then_some(actions::attempt as fn(Direction) -> String)
    }),
    ("every action type of Runnel", |direction| {
        actions::has(direction).then_some(actions::attempt_types as fn(Direction) -> String)
    }),
];

pub fn sheet() -> Sheet<()> {
    let row = |(title, feature): &Feature| {
        row(title, |direction| {
            let attempt = feature(direction)?;
            Some(Box::new(move |()| attempt(direction)))
        })
    };
    Sheet { title: "On one host", text: TEXT, columns: columns(), rows: FEATURES.iter().map(row).collect() }
}

fn columns() -> Vec<String> {
    directions().iter().map(|direction| column(*direction)).collect()
}

/// A row of the cells that have an attempt.
fn row(title: &str, attempt: impl Fn(Direction) -> Option<Attempt<()>>) -> Row<()> {
    let cell = |direction: Direction| {
        Some(Cell { name: format!("{title}, {}", column(direction)), attempt: attempt(direction)? })
    };
    Row { title: title.to_owned(), cells: directions().into_iter().map(cell).collect() }
}

/// What a node offers: a title, and the checks with the node of rclpy and with that of Runnel.
type Offer = (&'static str, Option<fn(Distro)>, Option<fn(Distro)>);

const OFFERS: [Offer; 7] = [
    (
        "parameters",
        Some(ros2_parameters::check_parameters_of_rclpy),
        Some(ros2_parameters::check_own_parameters),
    ),
    (
        "every parameter type, bad values",
        Some(ros2_parameters::check_types_of_rclpy_parameters),
        Some(ros2_parameters::check_types_of_own_parameters),
    ),
    ("`/rosout`", Some(ros2_logging::check_log_of_rclpy), Some(ros2_logging::check_own_log)),
    ("`/clock`", Some(ros2_node::check_clock_of_rclpy), None),
    ("type descriptions", None, Some(ros2_node_services::check_type_description)),
    ("logger services", None, Some(ros2_node_services::check_logger_services)),
    ("transforms", Some(tf::check_broadcasters_of_rclpy), Some(tf::check_own_broadcasters)),
];

/// What every node offers, between Runnel and rclpy.
pub fn node_sheet() -> Sheet<()> {
    let offer = |(title, theirs, ours): &Offer| {
        row(title, |(from, to)| {
            let check = if from == Origin::Runnel { (*ours)? } else { (*theirs)? };
            let Origin::Ros2(distro) = other((from, to)) else { return None };
            Some(Box::new(move |()| {
                check(distro);
                PASS.to_owned()
            }))
        })
    };
    Sheet {
        title: "What every node offers",
        text: NODE_TEXT,
        columns: columns(),
        rows: OFFERS.iter().map(offer).collect(),
    }
}

const NODE_TEXT: &str = "\
The program on the left of the arrow has the parameters, the log, the clock, the services or the transforms. The one on the
right uses them, with the client of its library where there is one.

- *Transforms*: the wheels of rclpy lack tf2_msgs, which is generated from its definition.";

const TEXT: &str = "\
The program on the left of the arrow publishes. Every message must arrive byte for byte, reliable ones all and in order.

- *Every pair of QoS*: each combination of reliability, durability, deadline (three), liveliness and its lease (three) at the
  writer and at the reader. A pair must match exactly when it matches between two programs of the other
  implementation. Each end counts the pairs that it refused.
- *Policies reported as incompatible*: for each incompatible combination, both ends must report the policy that
  rclpy reports.
- *Services, actions*: the program on the left of the arrow calls the services and sends the goals. The wheels of Jazzy and
  Kilted lack all action types and some service types of Runnel. These are generated for rclpy from the same definitions.
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
