//! Tables and how they look in Markdown.

use interop::Ros1Graph;

/// What is tried in one place of a table: it panics if it does not work.
pub type Attempt = Box<dyn Fn(&Ros1Graph) + Send + Sync>;

/// One place of a table.
pub struct Cell {
    /// The row and the column.
    pub name: String,
    pub attempt: Attempt,
}

/// One row: a cell for each column, or why there is none.
pub struct Row {
    pub title: &'static str,
    pub cells: Vec<Option<Cell>>,
}

/// One table.
pub struct Sheet {
    pub title: &'static str,
    /// What stands above it.
    pub text: &'static str,
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

impl Sheet {
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten())
    }

    fn markdown(&self, has_failed: impl Fn(&Cell) -> bool) -> String {
        let (title, columns) = (self.title, self.columns.join(" | "));
        let rule = "---|".repeat(self.columns.len() + 1);
        let mut text = format!("## {title}\n\n{}\n\n| | {columns} |\n|{rule}\n", self.text);
        for row in &self.rows {
            let verdict = |cell: &Option<Cell>| match cell {
                None => "–",
                Some(cell) if has_failed(cell) => "**fail**",
                Some(_) => "pass",
            };
            let cells: Vec<&str> = row.cells.iter().map(verdict).collect();
            text += &format!("| {} | {} |\n", row.title, cells.join(" | "));
        }
        text
    }
}

const HEAD: &str = "\
# Runnel and the original programs of ROS 1

What each run of `./test` tries anew, and `./test --peers` writes here. The originals are those of ros_comm 1.15 as Debian 12
has them (rospy, roscpp, rosmaster, the commands) and `@foxglove/ros1`, an independent implementation in JavaScript. Every
cell passes only if it does so at the original master and at `runnel master`.
";

/// The whole page.
pub fn page(sheets: &[Sheet], has_failed: impl Fn(&Cell) -> bool) -> String {
    let tables = sheets.iter().map(|sheet| sheet.markdown(&has_failed));
    [HEAD.to_owned()].into_iter().chain(tables).collect::<Vec<_>>().join("\n")
}
