//! The generator as users call it.

mod user_crate;
