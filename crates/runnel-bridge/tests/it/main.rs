//! Tests of the bridge without I/O.

mod hostile;
mod renamed;
mod standard;
mod texts_and_times;
