//! Suspending a guest, and letting it go on.
//!
//! A guest is suspended where it waits, sleeps or runs a loop. Its module was instrumented for that when it was compiled:
//! its functions return one by one, and leave their local variables and the way back in a buffer in linear memory (Binaryen's
//! Asyncify). Calling the main function again leads back to where it was, in the same instance or in one that was given the
//! same memory and globals, on whatever processor.

mod asyncify;
mod suspended;

pub use asyncify::{Asyncify, Suspension, other_function, resume, suspend};
pub use suspended::{GlobalValue, Sleep, Suspended, Wait};
