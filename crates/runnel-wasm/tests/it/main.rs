//! Guests in text form, compiled and run by the host.

mod checkpoints;
mod echo;
mod guests;
mod hostile;
mod hostile_checkpoints;
mod hostile_instrumentation;
mod hostile_modules;
mod instrument;
mod migration;
mod programs;
