//! The threads that run a context: the event loop, how it waits and hands over, executors, wait sets and waiting tasks.

pub(crate) mod event_loop;
pub(crate) mod executor;
pub(crate) mod polling;
pub(crate) mod shared;
pub(crate) mod spin_count;
pub(crate) mod standby_nodes;
pub(crate) mod task_waiter;
pub(crate) mod wait_set;
