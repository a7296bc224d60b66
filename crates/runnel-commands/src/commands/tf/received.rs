//! Transforms that a command receives.

use runnel::tf::{Buffer, TransformListener};
use runnel::{Context, Node, QoS};

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};

/// Most messages that wait.
const DEPTH: usize = 1000;

/// In which graphs a command listens.
#[derive(Clone, Debug, clap::Args)]
pub struct ListenArgs {
    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

impl ListenArgs {
    /// The graphs, for a command that runs until Ctrl-C.
    ///
    /// # Errors
    /// When a requested graph cannot be reached.
    pub fn open_graphs(&self, cli: &CliContext) -> Result<GraphSnapshot, CliError> {
        GraphSnapshot::open_running(cli, self.filter, &self.discovery)
    }
}

/// The QoS for `/tf`, which matches every publisher, and for `/tf_static`.
pub fn qos() -> [QoS; 2] {
    [QoS::keep_last(DEPTH).reliability_best_available(), QoS::keep_last(DEPTH).transient_local()]
}

/// A buffer of the transforms that nodes broadcast.
pub struct ReceivedTransforms {
    pub context: Context,
    pub buffer: Buffer,
    _node: Node,
    _listener: TransformListener,
}

impl ReceivedTransforms {
    /// Begins to receive.
    ///
    /// # Errors
    /// When a requested graph cannot be reached.
    pub fn listen(cli: &CliContext, args: &ListenArgs, command: &str) -> Result<Self, CliError> {
        let context = args.open_graphs(cli)?.context().clone();
        let node = cli.node(&context, command)?;
        let buffer = Buffer::new(&context);
        let [qos, static_qos] = qos();
        let listener = TransformListener::with_qos(&node, &buffer, qos, static_qos)?;
        Ok(Self { context, buffer, _node: node, _listener: listener })
    }
}
