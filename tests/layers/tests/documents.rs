//! What the documents say of the tree: their links, and the uses between layers.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use layers::{Tree, uses_between_layers};

/// Removes the code blocks of a document.
fn prose(document: &str) -> String {
    let mut is_code = false;
    let lines = document.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The anchors of the headings, as forges make them.
fn anchors(prose: &str) -> BTreeSet<String> {
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(anchor).collect()
}

/// The targets of the links.
fn links(prose: &str) -> Vec<&str> {
    prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)).collect()
}

/// What is wrong with a link of the document at `path`.
fn fault(path: &Path, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = if file.is_empty() { path.to_owned() } else { path.parent()?.join(file) };
    let place = format!("{}: {link}", path.display());
    if !target.exists() {
        return Some(format!("{place}: no such file"));
    }
    let anchor = anchor?;
    let has = fs::read_to_string(target).is_ok_and(|text| anchors(&prose(&text)).contains(anchor));
    (!has).then(|| format!("{place}: no such heading"))
}

/// The documents at the root and in `docs/`.
fn documents(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for folder in [root.to_owned(), root.join("docs")] {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[test]
fn every_link_leads_to_a_file_and_heading() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let (mut checked, mut faults) = (0, Vec::new());
    for document in documents(&root)? {
        let text = prose(&fs::read_to_string(&document)?);
        checked += links(&text).len();
        faults.extend(links(&text).into_iter().filter_map(|link| fault(&document, link)));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(checked > 100, "only {checked} links were found");
    Ok(())
}

#[test]
fn counts_of_uses_between_layers_are_those_of_the_tree() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = fs::read_to_string(root.join("tests/layers/table"))?;
    let counts = uses_between_layers(&Tree::read(&root)?, &table, "runnel");
    let text = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let (_, rows) = text.split_once("| From |").ok_or("no table of uses")?;
    let row =
        |line: &str| line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect::<Vec<usize>>();
    let written: Vec<_> = rows.lines().skip(2).take_while(|line| line.starts_with('|')).map(row).collect();
    assert_eq!(written, counts, "ARCHITECTURE.md, \"Layers of the crate `runnel`\"");
    Ok(())
}
