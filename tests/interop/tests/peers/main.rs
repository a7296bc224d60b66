//! The table `docs/interop-ros1.md`: what works between Runnel and each of the original programs, found out anew by every
//! run. `./test --peers` writes it; otherwise the run is compared with what is committed.

mod commands;
mod features;
mod sheet;

use std::collections::VecDeque;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::thread;

use interop::{Master, Server};
use sheet::{Cell, Sheet};

/// Runs at a time: most of a run is waiting for Python to start.
const AT_A_TIME: usize = 3;

/// The variable by which `./test --peers` asks for the file to be written.
const WRITE: &str = "RUNNEL_WRITE_PEERS";

/// One attempt: a cell at a master.
struct Attempt<'a> {
    cell: &'a Cell,
    server: Server,
}

/// What went wrong in a cell.
struct Failed {
    cell: String,
    why: String,
}

#[test]
fn every_cell_of_the_table_passes_at_both_masters() {
    let sheets = [features::sheet(), commands::sheet()];
    let cells = || sheets.iter().flat_map(Sheet::cells);
    let attempts = cells().flat_map(|cell| Server::BOTH.map(|server| Attempt { cell, server }));
    let failed = run(attempts.collect());
    let has_failed = |cell: &Cell| failed.iter().any(|failed| failed.cell == cell.name);
    let table = sheet::page(&sheets, has_failed);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/interop-ros1.md");
    if std::env::var_os(WRITE).is_some() {
        fs::write(path, &table).expect("the page is written");
    }
    for Failed { cell, why } in &failed {
        println!("{cell}: {why}\n");
    }
    assert!(failed.is_empty(), "{} attempts failed: see above", failed.len());
    let committed = fs::read_to_string(path).expect("docs/interop-ros1.md");
    assert_eq!(committed, table, "docs/interop-ros1.md is out of date: run ./test --peers");
}

fn run(attempts: VecDeque<Attempt<'_>>) -> Vec<Failed> {
    let (attempts, failed) = (Mutex::new(attempts), Mutex::new(Vec::new()));
    let work = || {
        while let Some(attempt) = { attempts.lock().expect("no panic").pop_front() } {
            if let Err(why) = attempt.run() {
                let cell = attempt.cell.name.clone();
                let why = format!("at {:?}: {why}", attempt.server);
                failed.lock().expect("no panic").push(Failed { cell, why });
            }
        }
    };
    thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(work))));
    failed.into_inner().expect("no panic")
}

impl Attempt<'_> {
    fn run(&self) -> Result<(), String> {
        let attempt = || {
            let master = Master::start(self.server);
            (self.cell.attempt)(master.graph());
        };
        panic::catch_unwind(AssertUnwindSafe(attempt)).map_err(|why| {
            let text = why.downcast_ref::<String>().cloned();
            text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        })
    }
}
