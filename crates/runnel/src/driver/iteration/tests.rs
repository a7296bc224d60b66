//! Tests of what an iteration reports.

use runnel_core::time::Instant;
use runnel_testkit::namespace::require_private_network;

use crate::driver::NO_WAIT;
use crate::driver::effect::Deadline;
use crate::{Context, ContextOptions, Graphs};

/// Tasks that wait for a change look again only after such an iteration.
#[test]
fn due_deadline_counts_as_served() {
    require_private_network();
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    let context = Context::with_options(options.graphs(Graphs::Ros2).domain_id(169)).unwrap();
    let node = context.create_node("idle").unwrap();
    let mut driver = node.inner.driver();
    while driver.poll_once(Some(NO_WAIT)).unwrap().had_work {}
    driver.effects.schedule(Deadline::Diagnostics, Instant(1));
    assert!(driver.poll_once(Some(NO_WAIT)).unwrap().had_work);
}
