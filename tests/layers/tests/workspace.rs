//! The check of this workspace, and of small workspaces with one fault each.

use std::error::Error;
use std::fs;
use std::path::Path;

use layers::{Tree, faults};

/// The path of the table from the root of the workspace.
const TABLE: &str = "tests/layers/table";

#[test]
fn workspace_keeps_its_layers() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = fs::read_to_string(root.join(TABLE))?;
    let faults = faults(&Tree::read(&root)?, &table, TABLE);
    assert!(faults.is_empty(), "\n{}\n(CONTRIBUTING.md, \"Layers\", says what to do)", faults.join("\n"));
    Ok(())
}

/// Two crates; `upper` has three modules in two layers.
const FILES: [(&str, &str); 8] = [
    ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
    ("crates/lower/Cargo.toml", "[package]\nname = \"lower\"\n"),
    ("crates/lower/src/lib.rs", ""),
    ("crates/upper/Cargo.toml", "[package]\nname = \"upper\"\n[dependencies]\nlower.workspace = true\n"),
    ("crates/upper/src/lib.rs", "mod api;\nmod error;\nmod frame;\npub use api::Api;\n"),
    ("crates/upper/src/api.rs", "use crate::{\n    error::Error,\n    frame::Frame,\n};\n"),
    ("crates/upper/src/error.rs", ""),
    ("crates/upper/src/frame.rs", "use super::error;\n"),
];

const LAYERED: &str = "crate lower:\ncrate upper: lower\nlayer upper: error frame\nlayer upper: api\n";

/// The faults of that workspace with one file replaced.
fn faults_with_file(path: &str, text: &str, table: &str) -> Vec<String> {
    let files = FILES.into_iter().filter(|(known, _)| *known != path).chain([(path, text)]);
    faults(&Tree::of(files), table, "table")
}

#[test]
fn sound_workspace_has_no_faults() {
    assert_eq!(faults_with_file("crates/lower/src/lib.rs", "", LAYERED), [""; 0]);
}

#[test]
fn cycle_of_modules_is_refused() {
    let table = "crate lower:\ncrate upper: lower\n";
    let faults =
        faults_with_file("crates/upper/src/error.rs", "fn f() {}\n\nfn g() { crate::Api::new() }\n", table);
    let expected = [
        "crates/upper/src/api.rs:2: module api uses error, which leads back to it",
        "crates/upper/src/api.rs:3: module api uses frame, which leads back to it",
        "crates/upper/src/error.rs:3: module error uses api, which leads back to it",
        "crates/upper/src/frame.rs:1: module frame uses error, which leads back to it",
    ];
    assert_eq!(faults, expected);
}

#[test]
fn cycle_within_a_layer_is_refused() {
    let faults = faults_with_file("crates/upper/src/error.rs", "use crate::frame::Frame;", LAYERED);
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].starts_with("crates/upper/src/error.rs:1: module error uses frame"), "{faults:?}");
}

#[test]
fn use_of_a_higher_layer_is_refused() {
    let table =
        "crate lower:\ncrate upper: lower\nlayer upper: api\nlayer upper: error\nlayer upper: frame\n";
    let expected = [
        "crates/upper/src/api.rs:2: module api uses error, which is in a higher layer of crate upper",
        "crates/upper/src/api.rs:3: module api uses frame, which is in a higher layer of crate upper",
    ];
    assert_eq!(faults_with_file("crates/lower/src/lib.rs", "", table), expected);
}

#[test]
fn use_between_modules_that_are_apart_is_refused() {
    let table = format!("{LAYERED}apart upper frame: left right\n");
    let outer =
        ("crates/upper/src/frame.rs", "mod left;\nmod right;\nmod shared;\nuse left::Left;\nstruct Frame;");
    for (text, used) in [
        ("use super::shared::X;", None),
        ("use super::left::X;", Some("left")),
        ("use super::Left;", Some("left")),
        ("use crate::frame::Frame;", Some("Frame")),
    ] {
        let inner = [
            outer,
            ("crates/upper/src/frame/left.rs", ""),
            ("crates/upper/src/frame/shared.rs", "use super::Left;"),
        ];
        let kept = FILES.into_iter().filter(|(path, _)| *path != outer.0);
        let files = kept.chain(inner).chain([("crates/upper/src/frame/right.rs", text)]);
        let expected: Vec<String> = used
            .map(|used| {
                format!(
                    "crates/upper/src/frame/right.rs:1: frame::right may not use frame::{used}, by table:5"
                )
            })
            .into_iter()
            .collect();
        assert_eq!(faults(&Tree::of(files), &table, "table"), expected, "{text}");
    }
}

#[test]
fn unchecked_crate_may_have_cycles() {
    let table = "crate lower:\ncrate upper: lower\nunchecked upper\n";
    assert_eq!(faults_with_file("crates/upper/src/error.rs", "use crate::api::Api;", table), [""; 0]);
}

#[test]
fn programs_are_checked_like_libraries() {
    let table = "crate lower:\ncrate upper: lower\n";
    for root in ["crates/lower/src/main.rs", "crates/lower/src/bin/tool.rs"] {
        assert_eq!(
            faults_with_file(root, "mod missing;", table),
            [format!("{root}: no file of module missing is found")]
        );
    }
}

#[test]
fn upward_dependency_of_a_crate_is_refused() {
    let manifest = "[package]\nname = \"lower\"\n\n[dependencies]\nupper = { path = \"../upper\" }\n";
    let expected = ["crates/lower/Cargo.toml:5: crate lower may not use upper, by table:1"];
    assert_eq!(faults_with_file("crates/lower/Cargo.toml", manifest, LAYERED), expected);
}

#[test]
fn crate_missing_in_the_table_is_refused() {
    let faults = faults_with_file("crates/new/Cargo.toml", "[package]\nname = \"new\"", LAYERED);
    assert_eq!(faults, ["crates/new/Cargo.toml:1: crate new has no line in table"]);
}

#[test]
fn outdated_table_is_refused() {
    for (line, expected) in [
        ("crate missing:", "table:5: no crate missing in the workspace"),
        ("layer missing: x", "table:5: no crate missing in the workspace"),
        ("unchecked missing", "table:5: no crate missing in the workspace"),
        ("apart missing x: y", "table:5: no crate missing in the workspace"),
        ("apart upper missing: x", "table:5: crate upper has no top module missing"),
        ("layer upper: missing", "table:5: crate upper has no top module missing"),
        ("layer upper: api", "table:5: module api has a layer already"),
        ("arrow a b", "table:5: not a line of this table: arrow a b"),
    ] {
        assert_eq!(
            faults_with_file("crates/lower/src/lib.rs", "", &format!("{LAYERED}{line}\n")),
            [expected],
            "{line}"
        );
    }
    let table = LAYERED.replace(" frame", "").replace("crate lower:", "crate lower: upper");
    let expected =
        ["table:1: crate lower does not use upper", "table: module frame of crate upper has no layer"];
    assert_eq!(faults_with_file("crates/lower/src/lib.rs", "", &table), expected);
}
