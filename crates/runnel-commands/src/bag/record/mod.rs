//! `runnel bag record`

mod arguments;
mod begun_bags;
mod events;
mod output;
mod recorder;
mod report;
mod running;
mod services;
mod sink;
mod topic_selection;

use std::path::PathBuf;

use runnel::{Context, Graphs, Node};

pub use arguments::{
    AcceptedArgs, Args, COMPRESSION, CompressionArgs, LimitArgs, OutputArgs, RecordStorage, SnapshotArgs,
    TopicArgs, custom_data, message_type, repeated,
};
use begun_bags::BegunBags;
pub use events::LossPeriod;
use events::{Events, MESSAGES_LOST, WRITE_SPLIT};
use recorder::Recorder;
pub use recorder::{has_sum, stored};
use running::{Running, TerminalUse};
use services::Services;
pub use sink::LOSS;

use crate::bag::files::folder;
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Name of the node in ROS 2: that of rosbag2's recorder.
const NODE: &str = "rosbag2_recorder";

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    let mut plan = args.plan(cli)?;
    let context = plan.open(cli)?;
    let node = node(cli, &context, plan.node_name.as_deref())?;
    let bags = plan.bags(context.graphs())?;
    let events =
        (context.graphs() != Graphs::Ros1).then(|| Events::new(&node, plan.loss_period)).transpose()?;
    if events.is_some() {
        // What this recorder itself says is recorded only if it is named.
        let topics = &mut plan.options.topics;
        let own = [WRITE_SPLIT, MESSAGES_LOST].into_iter().filter(|own| !topics.names.contains(*own));
        let own: Vec<String> = own.map(str::to_owned).collect();
        topics.excluded_names.extend(own);
    }
    let is_snapshot = plan.options.sink.memory.is_some();
    let recorder = Recorder::new(&node, bags, plan.options, cli.types_loader())?;
    recorder.control().set_paused(plan.is_paused);
    let _services = Services::start(&node, recorder.control(), plan.snapshot_topic.as_deref())?;
    if !plan.is_quiet {
        if let Some(why) = output::cached_write_path(folder(plan.destination.path())) {
            cli.output.note(&format!("the bag is written through the page cache: {why}"));
        }
        let files = recorder.progress().files;
        files.iter().for_each(|file| cli.output.note(&format!("recording into {}", file.display())));
        if is_snapshot {
            let service = format!("{}/snapshot", node.full_name());
            cli.output.note(&format!("recording into memory; the service {service} writes it to a bag"));
        }
    }
    let files = recorder.progress().files;
    let begun = plan.announces_files.then(|| BegunBags::new(&node, files.first().map(PathBuf::as_path)));
    let begun = begun.transpose()?;
    let terminal = TerminalUse { is_quiet: plan.is_quiet, reads_keys: plan.reads_keys };
    Running::new(cli, terminal, events, begun).record(&context, node, recorder)
}

/// The node of the recorder. In ROS 1, a second node of one name would end the first.
fn node(cli: &CliContext, context: &Context, name: Option<&str>) -> Result<Node, CliError> {
    match (name, context.graphs()) {
        (Some(name), _) => cli.node_of_name(context, name),
        (None, Graphs::Ros1) => cli.node(context, "record"),
        (None, Graphs::Ros2) => cli.node_of_name(context, NODE),
        (None, Graphs::Both) => cli.node_of_name(context, &format!("{NODE}_{}", std::process::id())),
    }
}
