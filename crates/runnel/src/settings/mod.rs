//! What the environment sets: variables, the choice of the graphs, waits at the end of a process, budgets for received data.

pub(crate) mod environment;
pub(crate) mod linger;
pub(crate) mod receive_budget;
pub(crate) mod variables;
