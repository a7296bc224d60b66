//! The bindings of the interface, `include/runnel.h` and `src/abi.rs`, compared with what `wit/runnel.wit` gives.
//! `RUNNEL_UPDATE_ABI=1` rewrites them.
//!
//! The crate is empty on this target. What it has without imports is compiled, with its tests, as modules of this program.

#[path = "../../src/abi.rs"]
#[expect(dead_code, reason = "the tests need only events")]
#[rustfmt::skip]
mod abi;
mod c_header;
#[path = "../../src/event_loop/deferred.rs"]
mod deferred;
mod interface;
mod rust_abi;

use std::fs;
use std::path::Path;

use interface::Interface;

const WIT: &str = "wit/runnel.wit";

fn path(of: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(of)
}

fn interface() -> Interface {
    Interface::parse(&fs::read_to_string(path(WIT)).expect("the interface is there"))
}

/// Compares a file with its text, after writing it if the environment says so.
fn check(file: &str, text: &str) {
    let path = path(file);
    if std::env::var_os("RUNNEL_UPDATE_ABI").is_some() {
        fs::write(&path, text).expect("the file can be written");
    }
    let is = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        is == text,
        "{WIT} has changed: run this test with RUNNEL_UPDATE_ABI=1 and look at the diff of {file}"
    );
}

#[test]
fn c_header_matches_the_interface() {
    check("include/runnel.h", &c_header::text(&interface()));
}

#[test]
fn rust_bindings_match_the_interface() {
    check("src/abi.rs", &rust_abi::text(&interface()));
}
