//! What an instrumented module imports: see the module `host::suspension`.

use wasmtime::{Caller, Linker};

use crate::host::{Host, Suspended, resume, suspend};

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap("runnel:checkpoint", "pause", pause)?;
    Ok(())
}

/// A loop runs while the guest is to be suspended.
fn pause(mut caller: Caller<'_, Host>) -> wasmtime::Result<()> {
    if resume(&mut caller)?.is_some() {
        return Ok(());
    }
    if caller.data().pace.is_suspension_wanted() {
        return suspend(&mut caller, Suspended::Loop);
    }
    // Nobody waits for the checkpoint any longer.
    match caller.data().stack.clone() {
        Some(stack) => stack.set_stop(&mut caller, false),
        None => Ok(()),
    }
}
