//! Limits on the resources that callers can make the master use.

use core::fmt;

/// Limits on what callers can make the master store or send. A call that would exceed a limit is answered with status
/// -1 and a text that names the limit; nothing else changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterLimits {
    /// Nodes registered at a time.
    pub nodes: usize,
    /// Publications, subscriptions, services and parameter subscriptions of one node, together.
    pub registrations_per_node: usize,
    /// The same for all nodes together. With the default, the system state fits one XML-RPC response.
    pub registrations: usize,
    /// Bytes of a resolved name, a type or a URI.
    pub name_bytes: usize,
    /// Bytes of all parameters: their text, and 32 bytes for each value and namespace.
    pub param_bytes: usize,
    /// Values and namespaces in the parameter tree. With the default, the tree fits one XML-RPC response.
    pub param_values: usize,
    /// Depth of the parameter tree, counted from the root.
    pub param_depth: usize,
    /// Remembered types of topics without a registration; past it the oldest is removed.
    pub remembered_types: usize,
    /// Updates queued for one node that does not answer.
    pub queued_updates: usize,
    /// Calls to nodes in progress at a time. Nodes that let a call time out share a quarter of them.
    pub outgoing_calls: usize,
    /// Bytes of updates in progress, past which no further update is started.
    pub update_bytes: usize,
    /// Liveness probes in progress at a time.
    pub probes: usize,
    /// Bytes of the results of one `system.multicall`, counted as parameters are. With the default, they fit one
    /// XML-RPC response.
    pub multicall_bytes: usize,
}

impl Default for MasterLimits {
    fn default() -> Self {
        Self {
            nodes: 10_000,
            registrations_per_node: 10_000,
            registrations: 250_000,
            name_bytes: 1024,
            param_bytes: 64 << 20,
            param_values: 500_000,
            param_depth: 48,
            remembered_types: 10_000,
            queued_updates: 20_000,
            outgoing_calls: 256,
            update_bytes: 128 << 20,
            probes: 32,
            multicall_bytes: 24 << 20,
        }
    }
}

/// A limit that a call would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Nodes(usize),
    NodeRegistrations(usize),
    Registrations(usize),
    ParamBytes(usize),
    ParamValues(usize),
    ParamDepth(usize),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Nodes(most) => write!(f, "limit of {most} nodes reached"),
            Limit::NodeRegistrations(most) => write!(f, "limit of {most} registrations of one node reached"),
            Limit::Registrations(most) => write!(f, "limit of {most} registrations of all nodes reached"),
            Limit::ParamBytes(most) => write!(f, "limit of {most} bytes of parameters reached"),
            Limit::ParamValues(most) => write!(f, "limit of {most} values in the parameter tree reached"),
            Limit::ParamDepth(most) => write!(f, "limit of {most} levels in the parameter tree reached"),
        }
    }
}
