//! `runnel wasm` where its compiler is not installed.

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs a copy of the program in a folder where no other program is.
fn alone(words: &[&str], file: (&str, &str)) -> Output {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let program = folder.path().join("runnel");
    fs::hard_link(env!("CARGO_BIN_EXE_runnel"), &program).expect("a link to the program");
    fs::write(folder.path().join(file.0), file.1).expect("a file");
    let mut command = Command::new(program);
    command.args(words).current_dir(folder.path()).env_clear().env("HOME", folder.path());
    command.output().expect("it starts")
}

#[test]
fn missing_compiler_is_named_with_what_helps() {
    for words in [&["wasm", "compile", "node.wat"][..], &["wasm", "run", "node.wat"]] {
        let output = alone(words, ("node.wat", "(module)"));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        let parts = [
            "runnel-wasm-compile is not installed",
            "cargo install --path crates/runnel-wasm/compiler",
            ".cwasm",
        ];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
