//! What an instrumented module imports: see the module `host::suspension`.

use wasmtime::{Caller, Linker};

use crate::host::{Host, Suspended, other_function, resume, suspend};
use crate::instrumented::PAUSE;

pub fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(PAUSE.0, PAUSE.1, pause)?;
    Ok(())
}

/// A loop runs while the guest is to be suspended.
fn pause(mut caller: Caller<'_, Host>) -> wasmtime::Result<()> {
    match resume(&mut caller)? {
        None => {}
        Some(Suspended::Loop) => return Ok(()),
        Some(_) => return Err(other_function()),
    }
    if caller.data().pace.is_suspension_wanted() {
        return suspend(&mut caller, Suspended::Loop);
    }
    // The request was withdrawn.
    match caller.data().asyncify.clone() {
        Some(asyncify) => asyncify.request_pause(&mut caller, false),
        None => Ok(()),
    }
}
