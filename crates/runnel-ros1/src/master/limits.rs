//! What a peer can make the master hold, and the words in which it is refused more.

use core::fmt;

/// Bounds on what callers can make the master keep or send. A call that would go past one is answered with
/// status -1 and a text that names the bound; nothing else changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterLimits {
    /// Nodes known at once.
    pub nodes: usize,
    /// Publications, subscriptions, services and parameter subscriptions of one node, together.
    pub registrations_per_node: usize,
    /// The same of all nodes. The default lets the whole system state fit one XML-RPC response.
    pub registrations: usize,
    /// Bytes of a resolved name, a type or a URI.
    pub name_bytes: usize,
    /// Bytes of all parameters: their text, and 32 bytes for each value and namespace.
    pub param_bytes: usize,
    /// Values and namespaces in the parameter tree. The default lets the tree fit one XML-RPC response.
    pub param_values: usize,
    /// How deep a value may stand in the parameter tree, counted from the root.
    pub param_depth: usize,
    /// Types remembered of topics that nobody registers any more; past it the oldest is forgotten.
    pub remembered_types: usize,
    /// Updates that wait for one node that does not answer.
    pub queued_updates: usize,
    /// Calls to nodes under way at once. Nodes that let a call time out share a quarter of them.
    pub outgoing_calls: usize,
    /// Bytes of the updates under way, past which none is begun until some are through.
    pub update_bytes: usize,
    /// Questions whether a node still lives under way at once.
    pub probes: usize,
    /// Bytes of the results of one `system.multicall`, counted as parameters are. The default lets them fit one
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

/// A bound that a call would have gone past.
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
