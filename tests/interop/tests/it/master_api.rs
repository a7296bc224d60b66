//! Behaviour of a master case by case, according to its API description: `peers/rospy/master_api.py` does not know
//! which master it tests.

use interop::{Master, Server, outcome};

fn every_case_passes(server: Server, but: &[&str]) {
    let master = Master::start(server);
    let graph = master.graph();
    let printed = outcome(graph.rospy("master_api.py", &[&[graph.master_uri()], but].concat())).success();
    let count =
        printed.last().and_then(|line| line.strip_prefix("ok ")?.strip_suffix(" cases")?.parse().ok());
    assert!(count.is_some_and(|count: usize| count >= 130), "{printed:#?}");
}

#[test]
fn original_master_matches_api_description() {
    every_case_passes(Server::Rosmaster, &[]);
}

#[test]
fn runnel_master_matches_api_description() {
    // Deviation on purpose: two nodes of one name would otherwise shut each other down for ever.
    every_case_passes(Server::Runnel, &["replaced_node_may_take_the_name_back"]);
}
