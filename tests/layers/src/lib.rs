//! Check that the crates of the workspace, and the top modules of each crate, use each other in one direction only.
//!
//! A table lists the crates that each crate uses, and the layers of a crate's modules. A module may use lower layers, and its
//! own layer without a cycle. A crate without layers must have no cycle between its top modules. `apart` modules within a top
//! module use neither each other nor the type with the top module's name, which owns them.
//!
//! Uses are paths that begin at the crate's root with `crate`, `super` or `self`, in a `use` or elsewhere in the code. An item
//! that the root re-exports counts as a use of its module. The root (`lib.rs`, `main.rs`) may use all modules. Test code is
//! ignored. `macro_rules` macros and methods of types of other modules leave no path and are not detected.

mod manifests;
mod modules;
mod source;
mod table;
mod tokens;
mod tree;

use std::collections::BTreeMap;

use manifests::{Member, members};
use modules::{Modules, cycles};
use table::Table;
pub use tree::Tree;

/// Checks a workspace. Returns one line per fault, which begins with the location; for a pair of modules that is the first
/// use. `table` is the text of the table, `path` its path.
pub fn faults(tree: &Tree, table: &str, path: &str) -> Vec<String> {
    let check = Check { table: Table::read(table), path, members: members(tree) };
    let mut faults: Vec<String> =
        check.table.faults.iter().map(|(line, text)| format!("{path}:{line}: {text}")).collect();
    faults.extend(check.unknown_crates());
    for (name, member) in &check.members {
        faults.extend(check.dependencies(name, member));
        if !check.table.unchecked.contains_key(name) {
            faults.extend(check.modules(tree, name, member));
        }
    }
    faults
}

/// Counts the uses from layer to layer of a crate, each pair of modules once: a row for each layer, lowest first, with a
/// number for each layer that it uses. Empty for a crate without layers.
pub fn uses_between_layers(tree: &Tree, table: &str, of: &str) -> Vec<Vec<usize>> {
    let table = Table::read(table);
    let members = members(tree);
    let (Some(member), Some(layers)) = (members.get(of), table.layers_of(of)) else { return Vec::new() };
    let mut counts: Vec<Vec<usize>> = (1..=table.layers[of].len()).map(|used| vec![0; used]).collect();
    let modules = Modules::of(tree, &format!("{}src/lib.rs", member.folder));
    for (from, to) in modules.uses.keys() {
        if let (Some(from), Some(to)) = (layers.get(from.as_str()), layers.get(to.as_str()))
            && let Some(count) = counts[*from].get_mut(*to)
        {
            *count += 1;
        }
    }
    counts
}

struct Check<'c> {
    table: Table,
    path: &'c str,
    members: BTreeMap<String, Member>,
}

impl Check<'_> {
    /// Crates of the table that are not in the workspace.
    fn unknown_crates(&self) -> Vec<String> {
        let crates = self.table.crates.iter().map(|(name, (_, line))| (name, line));
        let layers = self.table.layers.iter().filter_map(|(name, layers)| Some((name, &layers.first()?.1)));
        let apart = self.table.apart.iter().map(|((name, _), (_, line))| (name, line));
        let named = crates.chain(layers).chain(apart).chain(&self.table.unchecked);
        let unknown = named.filter(|(name, _)| !self.members.contains_key(*name));
        unknown
            .map(|(name, line)| format!("{}:{line}: no crate {name} in the workspace", self.path))
            .collect()
    }

    /// Differences between a crate's manifest and its line in the table.
    fn dependencies(&self, name: &str, member: &Member) -> Vec<String> {
        let path = self.path;
        let Some((allowed, line)) = self.table.crates.get(name) else {
            return vec![format!("{}Cargo.toml:1: crate {name} has no line in {path}", member.folder)];
        };
        let used = member.dependencies.iter().filter(|(used, _)| !allowed.contains(*used));
        let used = used
            .map(|(used, location)| format!("{location}: crate {name} may not use {used}, by {path}:{line}"));
        let unused = allowed.iter().filter(|allowed| !member.dependencies.contains_key(*allowed));
        let unused = unused.map(|unused| format!("{path}:{line}: crate {name} does not use {unused}"));
        used.chain(unused).collect()
    }

    /// Cycles between the top modules of a crate, and uses of higher layers.
    fn modules(&self, tree: &Tree, name: &str, member: &Member) -> Vec<String> {
        let source = format!("{}src/", member.folder);
        let mut roots: Vec<String> = ["lib.rs", "main.rs"].map(|root| format!("{source}{root}")).into();
        roots.retain(|root| tree.text(root).is_some());
        let library = roots.first().cloned();
        roots.extend(tree.files_in(&format!("{source}bin/")).into_iter().map(str::to_owned));
        let mut faults = Vec::new();
        for root in roots {
            let modules = Modules::of(tree, &root);
            faults.extend(modules.faults.iter().cloned());
            faults.extend(cycles(&modules.uses));
            if Some(&root) == library.as_ref() {
                faults.extend(self.layers(name, &modules));
                faults.extend(self.apart(name, &modules));
            }
        }
        faults
    }

    /// Uses between `apart` modules of a top module.
    fn apart(&self, name: &str, modules: &Modules) -> Vec<String> {
        let mut faults = Vec::new();
        for ((of, outer), (parts, line)) in self.table.apart.iter().filter(|((of, _), _)| of == name) {
            let Some(uses) = modules.inner.get(outer) else {
                faults.push(format!("{}:{line}: crate {of} has no top module {outer}", self.path));
                continue;
            };
            let owner = type_name(outer);
            let is_apart = |to: &String| parts.contains(to) || *to == owner;
            let wrong =
                uses.iter().filter(|((from, to), _)| parts.contains(from) && from != to && is_apart(to));
            faults.extend(wrong.map(|((from, to), location)| {
                format!("{location}: {outer}::{from} may not use {outer}::{to}, by {}:{line}", self.path)
            }));
        }
        faults
    }

    /// Uses of higher layers, and modules without a layer.
    fn layers(&self, name: &str, modules: &Modules) -> Vec<String> {
        let (Some(lines), Some(layers)) = (self.table.layers.get(name), self.table.layers_of(name)) else {
            return Vec::new();
        };
        let mut faults = Vec::new();
        let mut locations = BTreeMap::new();
        for (module, line) in
            lines.iter().flat_map(|(names, line)| names.iter().map(move |name| (name, line)))
        {
            let at = format!("{}:{line}", self.path);
            if !modules.names.contains(module) {
                faults.push(format!("{at}: crate {name} has no top module {module}"));
            }
            if locations.insert(module, line).is_some() {
                faults.push(format!("{at}: module {module} has a layer already"));
            }
        }
        let missing = modules.names.iter().filter(|module| !layers.contains_key(module.as_str()));
        faults.extend(
            missing.map(|module| format!("{}: module {module} of crate {name} has no layer", self.path)),
        );
        let layer = |module: &String| layers.get(module.as_str());
        for ((from, to), location) in &modules.uses {
            if let (Some(lower), Some(higher)) = (layer(from), layer(to))
                && lower < higher
            {
                faults.push(format!(
                    "{location}: module {from} uses {to}, which is in a higher layer of crate {name}"
                ));
            }
        }
        faults
    }
}

/// The name of a type after which a module is named.
fn type_name(module: &str) -> String {
    let mut letters = module.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
