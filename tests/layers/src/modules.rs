//! Uses between the top modules of one crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Named, Source};
use crate::tree::Tree;

/// The location of the first use, for each pair of modules.
pub type Uses = BTreeMap<(String, String), String>;

/// The top modules of a crate and their uses of each other.
#[derive(Debug, Default)]
pub struct Modules {
    /// The top modules.
    pub names: BTreeSet<String>,
    /// Uses between them.
    pub uses: Uses,
    /// By top module: uses between its inner modules, and of its own items.
    pub inner: BTreeMap<String, Uses>,
    /// Files that cannot be analysed, with their location.
    pub faults: Vec<String>,
}

/// A file of a crate, and its module.
struct File {
    path: String,
    module: Vec<String>,
    source: Source,
}

impl Modules {
    /// Reads the crate with this root file.
    pub fn of(tree: &Tree, root: &str) -> Self {
        let mut modules = Self::default();
        let mut files = Vec::new();
        modules.follow(tree, root.to_owned(), Vec::new(), &mut files);
        let Some((root, inner)) = files.split_first() else { return modules };
        modules.names = root.source.modules.iter().filter_map(|path| path.first().cloned()).collect();
        let exports = Exports::of(root, &modules.names);
        for file in inner {
            file.source.named.iter().for_each(|named| modules.add(file, named, &exports));
        }
        for outer in inner.iter().filter(|file| file.module.len() == 1) {
            modules.add_inner(outer, inner);
        }
        modules
    }

    /// Adds uses of the inner modules of a top module: of each other, of items that it imports from them, and of its own
    /// items.
    fn add_inner(&mut self, outer: &File, files: &[File]) {
        let names = outer.source.modules.iter().filter_map(|path| path.get(1).cloned()).collect();
        let exports = Exports::of(outer, &names);
        let mut uses = Uses::new();
        for file in files.iter().filter(|file| file.module.first() == outer.module.first()) {
            let Some(from) = file.module.get(1) else { continue };
            for named in file.source.named.iter().filter(|named| named.path.first() == outer.module.first()) {
                let Some(name) = named.path.get(1) else { continue };
                let known: Vec<&String> = exports.modules(name).collect();
                for to in if known.is_empty() { vec![name] } else { known } {
                    let location = || format!("{}:{}", file.path, named.line);
                    uses.entry((from.clone(), to.clone())).or_insert_with(location);
                }
            }
        }
        self.inner.insert(outer.module.concat(), uses);
    }

    fn follow(&mut self, tree: &Tree, path: String, module: Vec<String>, files: &mut Vec<File>) {
        let source = Source::read(&module, tree.text(&path).unwrap_or_default());
        let folder = folder_of(&path, module.is_empty());
        let inner = source.modules.clone();
        files.push(File { path: path.clone(), module: module.clone(), source });
        for inner in inner {
            let below = inner.get(module.len()..).unwrap_or_default().join("/");
            let candidates = [format!("{folder}{below}.rs"), format!("{folder}{below}/mod.rs")];
            match candidates.into_iter().find(|path| tree.text(path).is_some()) {
                Some(path) => self.follow(tree, path, inner, files),
                None => self.faults.push(format!("{path}: no file of module {} is found", inner.join("::"))),
            }
        }
    }

    fn add(&mut self, file: &File, named: &Named, exports: &Exports) {
        let (Some(own), Some(first)) = (file.module.first(), named.path.first()) else { return };
        let location = format!("{}:{}", file.path, named.line);
        if first == "*" {
            let text =
                format!("{location}: a glob import of the crate's root hides the uses of module {own}");
            self.faults.push(text);
        }
        for used in exports.modules(first).filter(|used| *used != own) {
            self.uses.entry((own.clone(), used.clone())).or_insert_with(|| location.clone());
        }
    }
}

/// The folder with the files of the modules that a file declares, with a trailing slash.
fn folder_of(path: &str, is_root: bool) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name.strip_suffix(".rs") {
        Some(name) if !is_root && name != "mod" => format!("{folder}/{name}/"),
        _ => format!("{folder}/"),
    }
}

/// Names in the crate's root: the top modules, and items that the root imports from them.
struct Exports {
    modules: BTreeMap<String, String>,
    /// The modules that the root imports with a glob.
    globs: Vec<String>,
}

impl Exports {
    fn of(root: &File, names: &BTreeSet<String>) -> Self {
        let mut modules: BTreeMap<String, String> = BTreeMap::new();
        let mut globs = Vec::new();
        for import in root.source.imports.iter().chain(&root.source.named) {
            let Some(module) = import.path.first().filter(|first| names.contains(*first)) else { continue };
            if import.alias == "*" {
                globs.push(module.clone());
            } else if import.path.len() > 1 {
                modules.insert(import.alias.clone(), module.clone());
            }
        }
        modules.extend(names.iter().map(|name| (name.clone(), name.clone())));
        Self { modules, globs }
    }

    /// The possible modules of a name in the root; none for the root's own items.
    fn modules(&self, name: &str) -> impl Iterator<Item = &String> {
        let known = self.modules.get(name);
        let globs = if known.is_none() { self.globs.as_slice() } else { &[] };
        known.into_iter().chain(globs)
    }
}

/// The uses on a cycle, one line each.
pub fn cycles(uses: &Uses) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|(from, _)| (from.as_str(), reached_from(uses, from))).collect();
    let returns = |(from, to): &(String, String)| {
        reached.get(to.as_str()).is_some_and(|reached| reached.contains(from.as_str()))
    };
    let on_cycle = uses.iter().filter(|(pair, _)| returns(pair));
    let line = |((from, to), location): (&(String, String), &String)| {
        format!("{location}: module {from} uses {to}, which leads back to it")
    };
    on_cycle.map(line).collect()
}

fn reached_from<'u>(uses: &'u Uses, start: &str) -> BTreeSet<&'u str> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![start];
    while let Some(module) = pending.pop() {
        for (_, to) in uses.keys().filter(|(from, _)| from == module) {
            if reached.insert(to.as_str()) {
                pending.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Modules {
        Modules::of(&Tree::of(files.iter().copied()), "c/src/lib.rs")
    }

    fn uses(files: &[(&str, &str)]) -> Vec<String> {
        let modules = modules(files);
        assert_eq!(modules.faults, [""; 0]);
        modules.uses.iter().map(|((from, to), location)| format!("{from} {to} {location}")).collect()
    }

    #[test]
    fn uses_of_inner_modules_count_for_the_top_module() {
        let files = [
            ("c/src/lib.rs", "mod a;\nmod b;\nmod c;"),
            ("c/src/a.rs", "mod x;\nmod y { mod z; }"),
            ("c/src/a/x.rs", "use super::super::b;\nuse super::own;"),
            ("c/src/a/y/z.rs", "\nuse crate::c::C;"),
            ("c/src/b/mod.rs", "mod x;\nuse super::c::C;"),
            ("c/src/b/x.rs", ""),
            ("c/src/c.rs", "#[cfg(test)]\nmod tests;"),
            ("c/src/c/tests.rs", "use crate::a;"),
        ];
        assert_eq!(uses(&files), ["a b c/src/a/x.rs:1", "a c c/src/a/y/z.rs:2", "b c c/src/b/mod.rs:2"]);
    }

    #[test]
    fn imported_names_of_the_root_resolve_to_their_modules() {
        let files = [
            (
                "c/src/lib.rs",
                "mod a;\npub mod b;\nmod d;\npub use b::{B, inner::C as D};\nuse std::io::a as e;",
            ),
            ("c/src/a.rs", "use crate::{B, own};"),
            ("c/src/b.rs", ""),
            ("c/src/d.rs", "fn f() -> crate::D { crate::e() }"),
        ];
        assert_eq!(uses(&files), ["a b c/src/a.rs:1", "d b c/src/d.rs:1"]);
    }

    #[test]
    fn glob_of_the_root_matches_unknown_names() {
        let files = [
            ("c/src/lib.rs", "mod a;\nmod b;\nmod d;\npub use b::*;"),
            ("c/src/a.rs", "use crate::Unknown;"),
            ("c/src/b.rs", "use crate::d::D;"),
            ("c/src/d.rs", ""),
        ];
        assert_eq!(uses(&files), ["a b c/src/a.rs:1", "b d c/src/b.rs:1"]);
    }

    #[test]
    fn inner_modules_and_their_uses_are_found() {
        let files = [
            ("c/src/lib.rs", "mod a;"),
            ("c/src/a/mod.rs", "mod x;\nmod y;\nmod z;\nuse x::X;\npub struct Own;"),
            ("c/src/a/x.rs", "mod inner;"),
            ("c/src/a/x/inner.rs", "use crate::a::y::Y;\nuse super::super::Own;"),
            ("c/src/a/y.rs", "use super::X;"),
            ("c/src/a/z.rs", "use self::own;\nuse super::z;"),
        ];
        let modules = modules(&files);
        let uses: Vec<_> =
            modules.inner["a"].iter().map(|((from, to), at)| format!("{from} {to} {at}")).collect();
        let expected = [
            "x Own c/src/a/x/inner.rs:2",
            "x y c/src/a/x/inner.rs:1",
            "y x c/src/a/y.rs:1",
            "z z c/src/a/z.rs:1",
        ];
        assert_eq!(uses, expected);
    }

    #[test]
    fn unresolvable_module_is_a_fault() {
        let files = [("c/src/lib.rs", "mod a;\nmod b;"), ("c/src/a.rs", "use super::*;")];
        let expected = [
            "c/src/lib.rs: no file of module b is found",
            "c/src/a.rs:1: a glob import of the crate's root hides the uses of module a",
        ];
        assert_eq!(modules(&files).faults, expected);
    }

    #[test]
    fn only_uses_on_a_cycle_are_named() {
        let pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a"), ("d", "f")];
        let uses: Uses = pairs
            .iter()
            .map(|(from, to)| ((from.to_string(), to.to_string()), format!("{from}.rs:1")))
            .collect();
        let expected = ["a uses b", "b uses c", "c uses a"];
        let lines = cycles(&uses);
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        assert!(lines.iter().zip(expected).all(|(line, edge)| line.contains(edge)), "{lines:?}");
        assert!(lines[0].starts_with("a.rs:1: "), "{lines:?}");
    }
}
