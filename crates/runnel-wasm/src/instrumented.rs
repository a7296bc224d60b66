//! What an instrumented module and its host agree on: see `program/instrument`.

/// Bytes of a page of linear memory, as in WebAssembly.
pub const PAGE: usize = 64 << 10;

/// Pages that the host adds to the memory, in which the functions of a suspended guest leave their variables.
pub const BUFFER_PAGES: u64 = 32;

/// The bytes of these pages.
pub const BUFFER: usize = BUFFER_PAGES as usize * PAGE;

/// The global that makes loops call [`PAUSE`] while it is not zero.
pub const PAUSE_FLAG: &str = "runnel:stop";

/// The beginning of the names of the module's own mutable globals, before their numbers.
pub const GLOBAL: &str = "runnel:global:";

/// Module and name of the function that a loop calls in which the guest is suspended.
pub const PAUSE: (&str, &str) = ("runnel:checkpoint", "pause");
