//! `runnel doctor`

mod clock;
pub mod finding;
mod found;
mod gather;
mod links;
mod network;
mod nodes;
mod process;
mod report;
mod ros2;
mod services;
mod topics;

use runnel::logging::Level;

use crate::cli_context::CliContext;
use crate::error::CliError;
use finding::{Finding, Severity};
use found::Found;

/// Check the whole graph, and report problems with advice
///
/// In ROS 1 it asks the master, every node, the publishers of topics with subscribers, and every service. In ROS 2 it
/// checks all participants, nodes, topics, services and actions, and the network: domains, multicast, clocks and buffers.
///
/// Exit code: 1 if it finds an error; 0 if it finds only warnings, infos or nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also print variables, hosts and nodes
    #[arg(short, long)]
    report: bool,

    /// Also ask publishers without subscribers for their types
    #[arg(short, long)]
    all: bool,

    /// Also compare the stamps of messages with this host's clock, and lengths with receive buffers
    #[arg(short, long)]
    stamps: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let found = gather::gather(args, cli)?;
    let findings = judge(&found);
    let text = || {
        let report = if args.report { report::report(&found) } else { String::new() };
        report + &report::text(&found, &findings, finding::width())
    };
    let levels = [(Severity::Error.name(), Level::Error), (Severity::Warning.name(), Level::Warn)];
    cli.output.answer_with_levels(&levels, text, || report::json(&found, &findings, args.report))?;
    match report::count(&findings, Severity::Error) {
        0 => Ok(()),
        _ => Err(CliError::Answered),
    }
}

/// All findings, the most severe first.
fn judge(found: &Found) -> Vec<Finding> {
    let mut findings = process::judge(&found.here);
    if let Some(graph) = &found.graph {
        let kinds = [
            nodes::judge(&found.here, graph),
            topics::judge(graph),
            links::judge(graph),
            services::judge(graph),
            clock::judge(graph),
        ];
        findings.extend(kinds.into_iter().flatten().map(Finding::in_ros1));
    }
    if let Some(ros2) = &found.ros2 {
        findings.extend(ros2::judge(ros2).into_iter().map(Finding::in_ros2));
        findings.extend(found.graph.iter().flat_map(|ros1| ros2::judge_both(ros2, ros1)));
    }
    let network = network::judge(&found.network, found.ros2.as_ref());
    findings.extend(network.into_iter().map(Finding::in_ros2));
    findings.sort();
    findings.dedup();
    findings
}
