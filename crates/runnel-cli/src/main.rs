//! The program `runnel`: only `main`. The commands are in `runnel-commands`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    runnel_commands::main()
}
