//! Tables of interoperability: how their cells are tested, and their form in Markdown.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::thread;

/// Test of one cell in an environment: returns the cell's text on success, and panics on failure.
pub type Attempt<G> = Box<dyn Fn(&G) -> String + Send + Sync>;

/// Text of a cell that passes.
pub const PASS: &str = "pass";

/// Text of a cell that this run does not test.
const UNTRIED: &str = "not tried";

/// Column offset between the tested cells of two rows, when one cell per row is tested: coprime to the numbers of
/// columns.
const STRIDE: usize = 5;

/// One cell of a table.
pub struct Cell<G> {
    /// Its row and column.
    pub name: String,
    /// Its test.
    pub attempt: Attempt<G>,
}

/// One row: a cell per column, or none.
pub struct Row<G> {
    /// Its label.
    pub title: String,
    /// One per column.
    pub cells: Vec<Option<Cell<G>>>,
}

/// One table.
pub struct Sheet<G> {
    /// Its heading.
    pub title: &'static str,
    /// The text above it.
    pub text: &'static str,
    /// The column headings.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<Row<G>>,
}

/// Result of a cell: its text, or why it fails.
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

    /// The cells that this run tests: all of them in a full run, otherwise one per row, with the column changing from
    /// row to row.
    pub fn chosen(&self) -> Vec<&Cell<G>> {
        if crate::is_full() { self.cells().collect() } else { self.one_of_each_row() }
    }

    fn one_of_each_row(&self) -> Vec<&Cell<G>> {
        let rows = self.rows.iter().map(|row| row.cells.iter().flatten().collect::<Vec<_>>());
        let one = |(index, cells): (usize, Vec<_>)| cells.get(index * STRIDE % cells.len().max(1)).copied();
        rows.enumerate().filter_map(one).collect()
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

/// A cell fails if it fails in any environment.
fn verdict(outcomes: &[Outcome], cell: &str) -> String {
    let mut of_cell = outcomes.iter().filter(|outcome| outcome.cell == cell).map(|outcome| &outcome.verdict);
    let Some(first) = of_cell.next() else { return UNTRIED.to_owned() };
    match first.as_ref().ok() {
        Some(first) if of_cell.all(|verdict| verdict.as_ref() == Ok(first)) => first.clone(),
        _ => "**fail**".to_owned(),
    }
}

/// A page of a text and tables.
pub fn page<G>(head: &str, sheets: &[Sheet<G>], outcomes: &[Outcome]) -> String {
    let tables = sheets.iter().map(|sheet| sheet.markdown(outcomes));
    [head.to_owned()].into_iter().chain(tables).collect::<Vec<_>>().join("\n")
}

/// Tests cells, `at_a_time` in parallel, each in an environment that is created from its context.
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

/// True if the pages are equal except for untested cells, which a full run does not have.
fn agree(committed: &str, found: &str, is_full: bool) -> bool {
    let cells =
        |page: &str| -> Vec<String> { page.split(['|', '\n']).map(|cell| cell.trim().to_owned()).collect() };
    let (committed, found) = (cells(committed), cells(found));
    let agrees = |(committed, found): (&String, &String)| {
        committed == found || (!is_full && found == UNTRIED && !committed.is_empty())
    };
    committed.len() == found.len() && committed.iter().zip(&found).all(agrees)
}

/// Prints why cells fail.
///
/// # Panics
/// If any cell fails, or the committed page at this path differs from the result. `write` asks for the page to be
/// written.
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
    if !agree(&committed, page, crate::is_full()) {
        assert_eq!(committed, page, "{path} is out of date: run ./test --peers");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet<()> {
        let cell = |row: usize, column: usize| {
            let name = format!("{row}, {column}");
            Some(Cell { name, attempt: Box::new(|()| PASS.to_owned()) })
        };
        let row = |index: usize| Row {
            title: format!("row {index}"),
            cells: (0..14).map(|column| if column == 3 { None } else { cell(index, column) }).collect(),
        };
        let columns = (0..14).map(|column| column.to_string()).collect();
        Sheet { title: "Title", text: "Text", columns, rows: (0..7).map(row).collect() }
    }

    fn outcomes(cells: &[&Cell<()>], verdict: &str) -> Vec<Outcome> {
        let outcome = |cell: &&Cell<()>| Outcome { cell: cell.name.clone(), verdict: Ok(verdict.to_owned()) };
        cells.iter().map(outcome).collect()
    }

    #[test]
    fn short_run_tries_one_cell_per_row() {
        let sheet = sheet();
        let names: Vec<&str> = sheet.one_of_each_row().iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names, ["0, 0", "1, 6", "2, 11", "3, 2", "4, 8", "5, 13", "6, 5"]);
    }

    #[test]
    fn short_run_agrees_with_the_page_of_full_one() {
        let sheets = [sheet()];
        let all: Vec<&Cell<()>> = sheets[0].cells().collect();
        let committed = page("Head", &sheets, &outcomes(&all, PASS));
        let some = sheets[0].one_of_each_row();
        let found = |verdict| page("Head", &sheets, &outcomes(&some, verdict));
        assert!(agree(&committed, &committed, true) && agree(&committed, &found(PASS), false));
        // Tested cells must be unchanged, and a full run tests all.
        assert!(!agree(&committed, &found("to 1 kB"), false) && !agree(&committed, &found(PASS), true));
        assert!(!agree(&committed.replace("row 2", "row two"), &found(PASS), false));
        assert!(!agree(&committed.replace("Text", "Other"), &found(PASS), false));
    }
}
