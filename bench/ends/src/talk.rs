//! What an end and the bench say to each other: lines on standard output, one line and then the end of the stream on
//! standard input.

use std::fmt;
use std::io::{self, Read, Write};
use std::thread;

use runnel::Context;

use crate::{Failure, failed};

/// Tells the bench something.
pub(super) fn say(line: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Tells the bench that this end is joined to the other.
pub(super) fn say_ready() -> Result<(), Failure> {
    say("ready")
}

/// Waits for the bench to give the start.
pub(super) fn wait_for_go() -> Result<(), Failure> {
    match io::stdin().read_line(&mut String::new())? {
        0 => Err(failed("the bench has gone")),
        _ => Ok(()),
    }
}

/// Serves the graph until the bench closes our standard input, or a callback shuts the context down.
pub(super) fn serve(context: &Context) -> Result<(), Failure> {
    end_with_bench(context)?;
    Ok(context.spin()?)
}

/// Has the context shut down once the bench closes our standard input.
pub(super) fn end_with_bench(context: &Context) -> Result<(), Failure> {
    let ending = context.clone();
    thread::Builder::new().name("bench".into()).spawn(move || {
        // Whether the stream ended or failed, nobody is there any more.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        ending.shutdown();
    })?;
    Ok(())
}
