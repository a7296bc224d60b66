//! `runnel bridge --status`

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runnel::core::names::DdsTopic;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{EndpointType, Graphs, QoS, Ros2Graph};
use serde_json::{Value as Json, json};

use super::report::{Report, is_report_topic};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::Discovery;
use crate::streaming::lock;

/// How long to wait for the reports of bridges that were found.
const ANSWERS: Duration = Duration::from_secs(3);

/// The reports that have arrived, by bridge.
type Reports = Arc<Mutex<BTreeMap<String, Report>>>;

/// Prints the reports of all bridges in the ROS 2 domain.
///
/// # Errors
/// If there is none.
pub fn run(cli: &CliContext, discovery: &Discovery) -> Result<(), CliError> {
    let context = cli.query_context_in(Graphs::Ros2)?;
    let graph = discovery.discover(cli, &context)?;
    let topics = report_topics(&graph);
    if topics.is_empty() {
        return Err(CliError::Failed(format!(
            "no bridge was found in ROS 2 domain {}. Try: runnel bridge, or --wait 5",
            context.domain_id().unwrap_or_default()
        )));
    }
    let node = cli.node(&context, "bridge_status")?;
    let reports = Reports::default();
    let mut subscriptions = Vec::new();
    for topic in &topics {
        let reports = Arc::clone(&reports);
        subscriptions.push(node.create_subscription(topic, QoS::latched(), move |text: &Text| {
            if let Ok(report) = serde_json::from_str::<Report>(&text.data) {
                lock(&reports).insert(report.bridge.clone(), report);
            }
        })?);
    }
    let until = Instant::now() + ANSWERS;
    while lock(&reports).len() < topics.len() && Instant::now() < until && context.ok() {
        context.spin_once(until.saturating_duration_since(Instant::now()))?;
    }
    let reports = lock(&reports);
    let missing = topics.len() - reports.len().min(topics.len());
    if missing > 0 {
        cli.output.note(&format!("bridges that have not reported: {missing}"));
    }
    let text = || reports.values().map(Report::text).collect::<String>();
    let json = || json!(reports.values().map(Report::json).collect::<Vec<Json>>());
    cli.output.answer(text, json)
}

/// The topics on which bridges publish their reports.
fn report_topics(graph: &Ros2Graph) -> BTreeSet<String> {
    let publishers = graph.endpoints.iter().filter(|end| end.endpoint_type == EndpointType::Publisher);
    let topics = publishers.filter_map(|end| match end.ros_topic() {
        Some(DdsTopic::Topic(topic)) => Some(topic),
        _ => None,
    });
    topics.filter(|topic| is_report_topic(topic)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::bridge::bridge_node_name;

    #[test]
    fn reports_are_found_by_the_names_of_bridges() {
        let name = bridge_node_name(5);
        let topics = [format!("rt/{name}/status"), format!("rt/a/{name}/status"), format!("rt/{name}/x")];
        let listed: Vec<_> = topics.iter().map(|topic| (topic.as_str(), 1, true)).collect();
        let found = report_topics(&graph(&listed));
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [format!("/a/{name}/status"), format!("/{name}/status")]
        );
        assert!(report_topics(&graph(&[(topics[0].as_str(), 1, false)])).is_empty());
    }
}
