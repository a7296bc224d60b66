//! How guests end.

use runnel::core::sanitize;
use wasmtime::{Trap, WasmBacktrace};

use crate::error::GuestError;
use crate::refusal::Stopped;
use crate::wasi::Exit;

/// How a guest has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Returned,
    /// By [`GuestControl::stop`](super::GuestControl::stop), or with its checkpoint.
    Stopped,
    /// It goes on at another host.
    HandedOver,
    /// It was to come from another host, and goes on there.
    NotCome,
}

/// The end of a guest that did not return.
pub fn end(error: &wasmtime::Error) -> Result<Ended, GuestError> {
    if let Some(Exit(status)) = error.downcast_ref::<Exit>() {
        return if *status == 0 { Ok(Ended::Returned) } else { Err(GuestError::Exit(*status)) };
    }
    let backtrace = error.downcast_ref::<WasmBacktrace>().map(functions).unwrap_or_default();
    Err(match (error.downcast_ref::<Stopped>(), error.downcast_ref::<Trap>()) {
        (Some(Stopped::ByControl), _) => return Ok(Ended::Stopped),
        (Some(Stopped::Overrun(limit)), _) => GuestError::Overrun { limit: *limit, backtrace },
        (None, Some(trap)) => GuestError::Trap { what: describe(*trap), backtrace },
        (None, None) => GuestError::Trap { what: error.root_cause().to_string(), backtrace },
    })
}

/// The functions of a backtrace, the innermost first.
fn functions(backtrace: &WasmBacktrace) -> Vec<String> {
    let name = |frame: &wasmtime::FrameInfo| match frame.func_name() {
        Some(name) => sanitize::one_line(&format!("{:#}", rustc_demangle::demangle(name))).into_owned(),
        None => format!("function {}", frame.func_index()),
    };
    backtrace.frames().iter().map(name).collect()
}

fn describe(trap: Trap) -> String {
    match trap {
        Trap::StackOverflow => "it used all of its stack, as by endless recursion".to_owned(),
        Trap::MemoryOutOfBounds => "it used an address outside of its memory".to_owned(),
        Trap::UnreachableCodeReached => {
            "it reached code that it says is unreachable, as after a panic".to_owned()
        }
        Trap::IndirectCallToNull | Trap::BadSignature | Trap::TableOutOfBounds => {
            "it called a function pointer that is not valid".to_owned()
        }
        Trap::IntegerDivisionByZero => "it divided an integer by zero".to_owned(),
        other => other.to_string(),
    }
}
