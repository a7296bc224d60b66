//! Table of the permitted uses.

use std::collections::{BTreeMap, BTreeSet};

/// The parsed table.
#[derive(Debug, Default)]
pub struct Table {
    /// The crates that each crate uses, with the line number.
    pub crates: BTreeMap<String, (BTreeSet<String>, usize)>,
    /// The top modules of a crate in layers, lowest first, with the line numbers.
    pub layers: BTreeMap<String, Vec<(Vec<String>, usize)>>,
    /// Inner modules that must not use each other, by crate and top module, with the line number.
    pub apart: BTreeMap<(String, String), (Vec<String>, usize)>,
    /// The crates whose modules are not checked, with the line number.
    pub unchecked: BTreeMap<String, usize>,
    /// Errors of the table, with the line number.
    pub faults: Vec<(usize, String)>,
}

impl Table {
    /// Parses a table. A line is `crate NAME: CRATE..`, `layer CRATE: MODULE..`, `apart CRATE MODULE: MODULE..` or
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
            self.faults.push((number, format!("a second line of this kind: {line}")));
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
