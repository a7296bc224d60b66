//! Tables of what works with whom: how they are tried, and how they look in Markdown.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::thread;

/// What is tried in one place of a table in surroundings of a kind: gives what stands there if it works, and panics if not.
pub type Attempt<G> = Box<dyn Fn(&G) -> String + Send + Sync>;

/// What stands in a place that is tried and works.
pub const PASS: &str = "pass";

/// One place of a table.
pub struct Cell<G> {
    /// The row and the column.
    pub name: String,
    /// How it is tried.
    pub attempt: Attempt<G>,
}

/// One row: a cell for each column, or none.
pub struct Row<G> {
    /// What stands before it.
    pub title: String,
    /// As many as there are columns.
    pub cells: Vec<Option<Cell<G>>>,
}

/// One table.
pub struct Sheet<G> {
    /// Its heading.
    pub title: &'static str,
    /// What stands above it.
    pub text: &'static str,
    /// What stands above the cells.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<Row<G>>,
}

/// What came of a cell: what stands there, or why it does not work.
pub struct Outcome {
    /// The name of the cell.
    pub cell: String,
    /// See [`Attempt`].
    pub verdict: Result<String, String>,
}

impl<G> Sheet<G> {
    /// Row by row.
    pub fn cells(&self) -> impl Iterator<Item = &Cell<G>> {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten())
    }

    fn markdown(&self, outcomes: &[Outcome]) -> String {
        let (title, columns) = (self.title, self.columns.join(" | "));
        let rule = "---|".repeat(self.columns.len() + 1);
        let mut text = format!("## {title}\n\n{}\n\n| | {columns} |\n|{rule}\n", self.text);
        for row in &self.rows {
            let verdict = |cell: &Option<Cell<G>>| match cell {
                None => "–".to_owned(),
                Some(cell) => verdict(outcomes, &cell.name),
            };
            let cells: Vec<String> = row.cells.iter().map(verdict).collect();
            text += &format!("| {} | {} |\n", row.title, cells.join(" | "));
        }
        text
    }
}

/// A cell fails that fails in any surroundings, or was not tried.
fn verdict(outcomes: &[Outcome], cell: &str) -> String {
    let mut of_cell = outcomes.iter().filter(|outcome| outcome.cell == cell).map(|outcome| &outcome.verdict);
    let first = of_cell.next().and_then(|verdict| verdict.as_ref().ok());
    match first {
        Some(first) if of_cell.all(|verdict| verdict.as_ref() == Ok(first)) => first.clone(),
        _ => "**fail**".to_owned(),
    }
}

/// A page of some text and tables.
pub fn page<G>(head: &str, sheets: &[Sheet<G>], outcomes: &[Outcome]) -> String {
    let tables = sheets.iter().map(|sheet| sheet.markdown(outcomes));
    [head.to_owned()].into_iter().chain(tables).collect::<Vec<_>>().join("\n")
}

/// Tries cells, so many at a time, each in the surroundings that are made of what it comes with.
pub fn run<G, C: Send + Sync>(
    at_a_time: usize,
    cells: impl IntoIterator<Item = (C, impl std::ops::Deref<Target = Cell<G>> + Send)>,
    attempt: impl Fn(&C, &Cell<G>) -> String + Sync,
) -> Vec<Outcome> {
    let waiting = Mutex::new(cells.into_iter().collect::<VecDeque<_>>());
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while let Some((surroundings, cell)) = { waiting.lock().expect("no panic").pop_front() } {
            let tried = panic::catch_unwind(AssertUnwindSafe(|| attempt(&surroundings, &cell)));
            let outcome = Outcome { cell: cell.name.clone(), verdict: tried.map_err(|why| reason(&*why)) };
            outcomes.lock().expect("no panic").push(outcome);
        }
    };
    thread::scope(|scope| (0..at_a_time).for_each(|_| drop(scope.spawn(work))));
    outcomes.into_inner().expect("no panic")
}

fn reason(why: &(dyn std::any::Any + Send)) -> String {
    let text = why.downcast_ref::<String>().cloned();
    text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Prints why cells fail.
///
/// # Panics
/// When any does, or the page at this path, below the repository's folder, is not the one that was found. `write` asks for
/// the page to be written.
pub fn judge(outcomes: &[Outcome], page: &str, path: &str, write: &str) {
    let file = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os(write).is_some() {
        std::fs::write(&file, page).expect("the page is written");
    }
    let failed = outcomes.iter().filter_map(|outcome| Some((&outcome.cell, outcome.verdict.as_ref().err()?)));
    let failed: Vec<_> = failed.collect();
    for (cell, why) in &failed {
        println!("{cell}: {why}\n");
    }
    assert!(failed.is_empty(), "{} attempts failed: see above", failed.len());
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(committed, page, "{path} is out of date: run ./test --peers");
}
