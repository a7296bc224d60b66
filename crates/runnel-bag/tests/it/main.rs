//! Bags on real files.

mod random;
mod real_files;
