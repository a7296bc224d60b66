use super::*;

const NODE: &str = "/n";

fn from() -> Caller<'static> {
    Caller { now: Instant(0), conn: ConnId(1), name: NODE, bytes: 600 }
}

fn topic(number: usize) -> String {
    format!("/t{number}")
}

/// A master with `count` topics whose updates failed to reach a node and are due for a retry.
fn with_updates_due(count: usize, limits: MasterLimits) -> State {
    let mut state = State::new("http://m:1/".to_owned(), 1, limits);
    for (number, call) in (0..count).map(|number| (number, CallId(number as u64))) {
        state.admit_registration(from(), "http://n:1/", Role::Subscriber, &topic(number)).expect("accepted");
        state.registry.subscribe(NODE, &topic(number), "*");
        let notification =
            Notification::Publishers { node: NODE.into(), topic: topic(number).as_str().into() };
        state.retries.sent(call, "http://n:1/".into(), notification);
        state.retries.failed(Instant(0), call);
    }
    state.retry_updates(Instant(100_000_000_000));
    state
}

fn unsubscribe(state: &mut State, number: usize) {
    let left =
        state.registry.unregister((NODE, "http://n:1/"), Role::Subscriber, &topic(number).as_str().into());
    left.expect("it was subscribed");
}

#[test]
fn unneeded_update_is_dropped_when_due() {
    let mut state = with_updates_due(2, MasterLimits::default());
    assert_eq!(state.retries.len(), 2);
    (0..2).for_each(|number| unsubscribe(&mut state, number));
    assert_eq!(state.next_update(), None);
    assert_eq!(state.retries.len(), 0);
}

#[test]
fn updates_dropped_from_full_queue_are_not_retried() {
    let limits = MasterLimits { queued_updates: 8, ..MasterLimits::default() };
    let mut state = with_updates_due(8, limits);
    unsubscribe(&mut state, 0);
    state.condense_queue(&"http://n:1/".into());
    while state.next_update().is_some() {}
    assert_eq!(state.retries.len(), 4, "those that still wait for delivery");
}
