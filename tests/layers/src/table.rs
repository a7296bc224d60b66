//! The table of what may use what.

use std::collections::{BTreeMap, BTreeSet};

/// The table, read.
#[derive(Debug, Default)]
pub struct Table {
    /// Each crate, with the crates that it uses and the line that says so.
    pub crates: BTreeMap<String, (BTreeSet<String>, usize)>,
    /// The top modules of a crate in layers, lowest first, each with its line.
    pub layers: BTreeMap<String, Vec<(Vec<String>, usize)>>,
    /// Modules within a top module of a crate that do not use each other, by the crate and the top module, with their line.
    pub apart: BTreeMap<(String, String), (Vec<String>, usize)>,
    /// The crates whose modules are not looked at yet, each with its line.
    pub unchecked: BTreeMap<String, usize>,
    /// What cannot be read, each with its line.
    pub faults: Vec<(usize, String)>,
}

impl Table {
    /// Reads a table. A line is `crate NAME: CRATE..`, `layer CRATE: MODULE..`, `apart CRATE MODULE: MODULE..` or
    /// `unchecked CRATE`, and `#` begins a comment.
    pub fn read(text: &str) -> Self {
        let mut table = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                table.add(line, index + 1);
            }
        }
        table
    }

    fn add(&mut self, line: &str, number: usize) {
        let (head, rest) = line.split_once(':').unwrap_or((line, ""));
        let rest = rest.split_whitespace().map(str::to_owned);
        let head: Vec<&str> = head.split_whitespace().collect();
        let is_new = match head.as_slice() {
            ["crate", name] => self.crates.insert((*name).to_owned(), (rest.collect(), number)).is_none(),
            ["layer", name] => {
                self.layers.entry((*name).to_owned()).or_default().push((rest.collect(), number));
                true
            }
            ["apart", name, outer] => {
                let key = ((*name).to_owned(), (*outer).to_owned());
                self.apart.insert(key, (rest.collect(), number)).is_none()
            }
            ["unchecked", name] => self.unchecked.insert((*name).to_owned(), number).is_none(),
            _ => return self.faults.push((number, format!("not a line of this table: {line}"))),
        };
        if !is_new {
            self.faults.push((number, format!("there is such a line already: {line}")));
        }
    }

    /// The layer of each module of a crate, from 0; `None` if the crate has no layers.
    pub fn layers_of(&self, name: &str) -> Option<BTreeMap<&str, usize>> {
        let layers = self.layers.get(name)?.iter().enumerate();
        Some(
            layers
                .flat_map(|(layer, (names, _))| names.iter().map(move |name| (name.as_str(), layer)))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_without_comments() {
        let table = Table::read(
            "# a table\ncrate a:\ncrate b: a  # because\n\nlayer b: x y\nlayer b: z\nunchecked c\napart b x: v w\n",
        );
        assert_eq!(table.apart[&("b".to_owned(), "x".to_owned())], (vec!["v".to_owned(), "w".to_owned()], 8));
        assert_eq!(table.faults, []);
        assert_eq!(table.crates["b"], (["a".to_owned()].into(), 3));
        assert_eq!(table.layers_of("b"), Some([("x", 0), ("y", 0), ("z", 1)].into()));
        assert_eq!(table.layers_of("a"), None);
        assert_eq!(table.unchecked["c"], 7);
    }

    #[test]
    fn unknown_and_repeated_lines_are_faults() {
        let lines: Vec<_> = Table::read("crate a:\ncrate a: b\nlayers a: x\nx").faults.into_iter().collect();
        assert_eq!(lines.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 4]);
    }
}
