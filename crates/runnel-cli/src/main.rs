//! The `runnel` command. What it does is in `runnel-commands`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    runnel_commands::main()
}
