//! The crates of the workspace and their dependencies on each other, from their manifests.

use std::collections::BTreeMap;

use crate::tree::Tree;

/// A crate of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    /// The folder, with a trailing slash.
    pub folder: String,
    /// Dependencies of the crate and its build script, with their location; without dev-dependencies.
    pub dependencies: BTreeMap<String, String>,
}

/// The crates of the workspace by name.
pub fn members(tree: &Tree) -> BTreeMap<String, Member> {
    let patterns = tree.text("Cargo.toml").map(member_patterns).unwrap_or_default();
    let folders = patterns.iter().flat_map(|pattern| tree.members(pattern));
    let mut members: BTreeMap<String, Member> = folders.filter_map(|folder| member(tree, folder)).collect();
    let names: Vec<String> = members.keys().cloned().collect();
    members.values_mut().for_each(|member| member.dependencies.retain(|name, _| names.contains(name)));
    members
}

/// The strings in `members = [..]`.
fn member_patterns(manifest: &str) -> Vec<String> {
    let list = manifest.split_once("\nmembers = [").and_then(|(_, rest)| rest.split_once(']'));
    list.map(|(list, _)| quoted(list).map(str::to_owned).collect()).unwrap_or_default()
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

fn member(tree: &Tree, folder: &str) -> Option<(String, Member)> {
    let path = format!("{folder}Cargo.toml");
    let manifest = tree.text(&path)?;
    let mut section = "";
    let mut name = None;
    let mut dependencies = BTreeMap::new();
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[').and_then(|header| header.split(']').next()) {
            section = header;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if section == "package" && key.trim() == "name" {
            name = quoted(value).next().map(str::to_owned);
        }
        if let Some(dependency) = dependency(section, line) {
            dependencies.entry(dependency.to_owned()).or_insert_with(|| format!("{path}:{}", index + 1));
        }
    }
    Some((name?, Member { folder: folder.to_owned(), dependencies }))
}

/// The crate that a line of a section declares as a dependency.
fn dependency<'l>(section: &'l str, line: &'l str) -> Option<&'l str> {
    let is_list = |section: &str| {
        let last = section.rsplit('.').next().unwrap_or_default();
        matches!(last, "dependencies" | "build-dependencies")
    };
    if line.starts_with('[') {
        let (list, name) = section.rsplit_once('.')?;
        return is_list(list).then_some(name);
    }
    let outer = section.rsplit_once('.').is_some_and(|(list, _)| is_list(list));
    if !is_list(section) && !outer || line.starts_with('#') {
        return None;
    }
    // The crate's own name, if the dependency is renamed.
    if let Some((_, renamed)) = line.split_once("package = ") {
        return quoted(renamed).next();
    }
    let name = line.split(['=', '.', ' ']).next().filter(|name| !name.is_empty());
    name.filter(|_| is_list(section))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str =
        "[workspace]\nmembers = [\n    \"crates/*\", \"bench/floor\"]\nexclude = [\"x\"]\n";

    fn dependencies(manifest: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"own\"\n{manifest}");
        let tree = Tree::of([
            ("Cargo.toml", WORKSPACE),
            ("crates/own/Cargo.toml", &manifest),
            ("crates/a/Cargo.toml", "[package]\nname = \"a\""),
            ("crates/a/inner/Cargo.toml", "[package]\nname = \"inner\""),
            ("bench/floor/Cargo.toml", "[package]\nname = \"floor\"\nversion = \"1\""),
        ]);
        let members = members(&tree);
        assert_eq!(members.keys().collect::<Vec<_>>(), ["a", "floor", "own"]);
        assert_eq!(members["own"].folder, "crates/own/");
        members["own"].dependencies.iter().map(|(name, location)| format!("{name} {location}")).collect()
    }

    #[test]
    fn dependencies_of_every_form_are_found() {
        let location = |line: usize| format!("a crates/own/Cargo.toml:{line}");
        for (manifest, line) in [
            ("[dependencies]\na.workspace = true", 4),
            ("[dependencies]\nserde = \"1\"\na = { path = \"../a\" }", 5),
            ("[build-dependencies]\na = { workspace = true }", 4),
            ("[target.'cfg(unix)'.dependencies]\na = \"1\"", 4),
            ("[dependencies.a]\npath = \"../a\"", 3),
            ("[dependencies]\nother = { package = \"a\" }", 4),
            ("[dependencies.other]\nversion = \"1\"\npackage = \"a\"", 5),
        ] {
            assert_eq!(dependencies(manifest), [location(line)], "{manifest}");
        }
    }

    #[test]
    fn other_dependencies_are_ignored() {
        for manifest in [
            "[dev-dependencies]\na.workspace = true",
            "[dependencies]\n# a = \"1\"\nab = \"1\"",
            "[features]\na = []",
            "[dev-dependencies.a]\npath = \"../a\"",
            "[dependencies.serde]\na = 1",
        ] {
            assert_eq!(dependencies(manifest), [""; 0], "{manifest}");
        }
    }
}
