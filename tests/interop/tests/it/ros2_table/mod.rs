//! The table `docs/interop-ros2.md`: interoperability of Runnel with ROS 2 originals and other DDS, tested by every
//! run. `./test --peers` writes it; otherwise the results are compared with the committed table. Wireshark's
//! dissectors check all of Runnel's traffic meanwhile.

mod actions;
mod features;
mod hosts;
mod qos;
mod refused;
mod types;

use interop::capture::Capture;
use interop::ros2::{Distro, Origin};
use interop::sheet::{Sheet, judge, page, run};

/// Tests at a time: most of a test is waiting for Python to start.
const AT_A_TIME: usize = 3;

/// Variable by which `./test --peers` requests that the file is written.
const WRITE: &str = "RUNNEL_WRITE_PEERS";

const HEAD: &str = "\
# Works with ROS 2 and other DDS: what was tested

For users with ROS 2 or DDS programs: which features work between Runnel and rclpy, Cyclone DDS, Fast DDS, dust_dds and
RustDDS.

| Column | Program |
|---|---|
| Kilted, Jazzy | rclpy of these releases, on Fast DDS 3 and 2.14 |
| Cyclone | Cyclone DDS 0.10, by its C library |
| Cyclone 11 | Cyclone DDS 11, by its Python library |
| Fast DDS | Fast DDS 2.9, by its C++ library |
| dust_dds, RustDDS | versions 0.16 and 0.15 |

`./test --full` tests every cell, and `./test --peers` writes this page. `./test` tests one cell of each row. Wireshark must
accept every packet that Runnel sends meanwhile as RTPS.
";

#[test]
fn table_cells_pass_and_frames_are_dissected() {
    let sheets = [features::sheet(), features::node_sheet(), hosts::sheet()];
    let capture = Capture::start();
    let cells = || sheets.iter().flat_map(Sheet::chosen);
    let only = std::env::var("RUNNEL_CELLS").unwrap_or_default();
    let chosen = cells().filter(|cell| cell.name.contains(&only));
    let outcomes = run(AT_A_TIME, chosen.map(|cell| ((), cell)), |(), cell| {
        let begun = std::time::Instant::now();
        let verdict = (cell.attempt)(&());
        println!("{}: {verdict} after {:.1} s", cell.name, begun.elapsed().as_secs_f64());
        verdict
    });
    let unsound = capture.end().unsound_rtps("rtps.vendorId == 0x0172");
    judge(&outcomes, &page(HEAD, &sheets, &outcomes), "docs/interop-ros2.md", WRITE);
    assert!(unsound.is_empty(), "{unsound:#?}");
}

/// Sender and receiver.
type Direction = (Origin, Origin);

/// Both directions between Runnel and each other implementation.
fn directions() -> Vec<Direction> {
    let others = Origin::OTHERS.into_iter();
    others.flat_map(|other| [(other, Origin::Runnel), (Origin::Runnel, other)]).collect()
}

/// The implementation other than Runnel.
fn other((from, to): Direction) -> Origin {
    if from == Origin::Runnel { to } else { from }
}

/// The others' names in the order of [`directions`].
fn column((from, to): Direction) -> String {
    format!("{} → {}", name(from), name(to))
}

fn name(origin: Origin) -> &'static str {
    match origin {
        Origin::Ros2(Distro::Kilted) => "Kilted",
        Origin::Ros2(Distro::Jazzy) => "Jazzy",
        Origin::Cyclone => "Cyclone",
        Origin::Cyclone11 => "Cyclone 11",
        Origin::FastDds => "Fast DDS",
        Origin::DustDds => "dust_dds",
        Origin::RustDds => "RustDDS",
        Origin::Runnel => "Runnel",
    }
}
