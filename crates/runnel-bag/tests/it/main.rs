//! Bags that are cut, on disks that fail, lose power or are real, and recorders that are killed.

mod compression_threads;
mod cuts;
mod failing_disk;
mod formats;
mod kill;
mod long_chunk;
mod many_messages;
mod power_loss;
mod power_loss_folders;
mod random;
mod real_files;
