//! Tests of the public API: tf2's documented behaviour, random trees against an oracle, hostile broadcasters.

mod behaviour;
mod errors;
mod history;
mod hostile;
mod messages;
mod oracle;
mod random_trees;
