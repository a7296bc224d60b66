//! What an instrumented module imports: see the module `checkpoint`.

use wasmtime::{Caller, Linker};

use crate::checkpoint::{Suspended, resume, suspend};
use crate::host::Host;

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap("runnel:checkpoint", "pause", pause)?;
    Ok(())
}

/// A loop runs while the guest is to be suspended.
fn pause(mut caller: Caller<'_, Host>) -> wasmtime::Result<()> {
    if resume(&mut caller)?.is_some() {
        return Ok(());
    }
    if caller.data().pace.is_checkpoint_wanted() {
        return suspend(&mut caller, Suspended::Loop);
    }
    // Nobody waits for the checkpoint any longer.
    match caller.data().stack.clone() {
        Some(stack) => stack.set_stop(&mut caller, false),
        None => Ok(()),
    }
}
