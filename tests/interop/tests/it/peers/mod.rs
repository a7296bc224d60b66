//! The table `docs/interop-ros1.md`: interoperability of Runnel and each original program, tested by every full run.
//! `./test --peers` writes it; otherwise the results are compared with the committed table.

mod commands;
mod features;

use interop::sheet::{Cell, Sheet, judge, page, run};
use interop::{Master, Ros1Graph, Server, is_full};

/// Tests at a time: most of a test is waiting for Python to start.
const AT_A_TIME: usize = 3;

/// Variable by which `./test --peers` requests that the file is written.
const WRITE: &str = "RUNNEL_WRITE_PEERS";

const HEAD: &str = "\
# Works with ROS 1: what was tested

For users with ROS 1 programs: which features work between Runnel and rospy, roscpp, rosmaster, the ROS 1 commands and an
independent implementation.

| Program | Version |
|---|---|
| rospy, roscpp, rosmaster, the commands | ros_comm 1.15 as in Debian 12 |
| `@foxglove/ros1` | an independent implementation in JavaScript |

`./test --full` tests every cell, and `./test --peers` writes this page. `./test` tests one cell of each row. A cell passes
only if it does so with the original master and with `runnel master`.
";

#[test]
fn table_cells_pass_at_both_masters() {
    let sheets = [features::sheet(), commands::sheet()];
    let cells = sheets.iter().flat_map(Sheet::chosen).enumerate();
    // One master per cell if one cell stands for its row.
    let servers =
        |index: usize| if is_full() { Server::BOTH.to_vec() } else { vec![Server::BOTH[index % 2]] };
    let attempts =
        cells.flat_map(|(index, cell)| servers(index).into_iter().map(move |server| (server, cell)));
    let outcomes = run(AT_A_TIME, attempts, |server, cell: &Cell<Ros1Graph>| {
        println!("{} at {server:?}", cell.name);
        let master = Master::start(*server);
        (cell.attempt)(master.graph())
    });
    judge(&outcomes, &page(HEAD, &sheets, &outcomes), "docs/interop-ros1.md", WRITE);
}
