//! What the program that instruments may use.

use std::path::Path;
use std::time::Duration;

use crate::program::instrument::asyncify::{LIMITS, Limits, run};

/// Why the shell is ended that runs in place of `wasm-opt`. It takes the module as its commands; the last argument is the file
/// that is to be written.
fn refusal(commands: &str, limits: &Limits) -> String {
    run(Path::new("/bin/sh"), commands.as_bytes(), limits).unwrap_err()
}

#[test]
fn program_that_uses_too_much_memory_is_ended() {
    let commands = "exec dd if=/dev/zero of=/dev/null bs=256M count=1";
    let why = refusal(commands, &Limits { memory: 64 << 20, ..LIMITS });
    let parts = ["/bin/sh failed (", "; it may use 64 MiB of memory): dd"];
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    assert!(refusal(commands, &LIMITS).contains("it has written no module"), "this is enough for it");
}

#[test]
fn program_that_takes_too_long_is_ended() {
    let why = refusal("exec sleep 1000", &Limits { time: Duration::from_millis(50), ..LIMITS });
    assert_eq!(why, "/bin/sh was ended: it took more than 50ms");
}

#[test]
fn program_that_writes_too_much_is_ended() {
    let commands = "for last; do :; done; head -c 100000 /dev/zero >\"$last\"; exec sleep 1000";
    let why = refusal(commands, &Limits { written: 50_000, ..LIMITS });
    assert_eq!(why, "/bin/sh was ended: it wrote more than 50000 bytes");
}
