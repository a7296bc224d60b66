//! Protocol between an end and the bench: lines on standard output; one line and then end of file on standard input.
//!
//! The bench's side is `commands/bench/turn.rs` in the crate `runnel-commands`. The programs in `bench/peers` speak the
//! same protocol.

use std::fmt;
use std::io::{self, Read, Write};
use std::thread;

use runnel::Context;

use crate::{Failure, failed};

/// Sends a line to the bench.
pub(super) fn send_line(line: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Tells the bench that this end is connected to the other.
pub(super) fn send_ready() -> Result<(), Failure> {
    send_line("ready")
}

/// Waits for the start signal of the bench.
pub(super) fn wait_for_go() -> Result<(), Failure> {
    match io::stdin().read_line(&mut String::new())? {
        0 => Err(failed("the bench has ended")),
        _ => Ok(()),
    }
}

/// Spins until the bench closes standard input, or a callback shuts the context down.
pub(super) fn serve(context: &Context) -> Result<(), Failure> {
    shut_down_with_bench(context)?;
    Ok(context.spin()?)
}

/// Shuts the context down once the bench closes standard input.
pub(super) fn shut_down_with_bench(context: &Context) -> Result<(), Failure> {
    let ending = context.clone();
    thread::Builder::new().name("bench".into()).spawn(move || {
        // End of file and errors both mean that the bench has ended.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        ending.shutdown();
    })?;
    Ok(())
}
