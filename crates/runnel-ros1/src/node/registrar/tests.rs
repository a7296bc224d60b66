use super::*;

const NOW: Instant = Instant(1_000_000_000);

fn register_a() -> Option<MasterRequest> {
    Some(MasterRequest::Register(Role::Publisher, "/a".into()))
}

fn known() -> Registrar {
    let mut registrar = Registrar::new(false);
    registrar.want(Role::Publisher, "/a");
    assert_eq!(registrar.next_request(NOW), register_a());
    assert!(registrar.registered(Role::Publisher, "/a", true));
    assert_eq!(registrar.next_request(NOW), None);
    registrar
}

#[test]
fn no_timer_runs_while_master_answers() {
    assert_eq!(known().poll_timeout(), None);
}

#[test]
fn changed_value_is_sent_again_after_call_in_progress() {
    let mut registrar = Registrar::new(false);
    let set_rate = || Some(MasterRequest::Register(Role::Parameter, "/n/rate".into()));
    registrar.want_changed(Role::Parameter, "/n/rate");
    assert_eq!(registrar.next_request(NOW), set_rate());
    registrar.want_changed(Role::Parameter, "/n/rate");
    registrar.want_changed(Role::Parameter, "/n/rate");
    assert_eq!(registrar.next_request(NOW), None, "one call per parameter, so that values stay in order");
    assert!(registrar.registered(Role::Parameter, "/n/rate", true));
    assert_eq!(registrar.next_request(NOW), set_rate());
    assert!(registrar.registered(Role::Parameter, "/n/rate", true));
    assert_eq!(registrar.next_request(NOW), None);
    registrar.want_changed(Role::Parameter, "/n/rate");
    assert_eq!(registrar.next_request(NOW), set_rate());
}

#[test]
fn new_master_is_asked_twice_then_gets_everything() {
    let mut registrar = known();
    assert!(registrar.connection_lost());
    assert!(!registrar.on_owner(NOW, &NameOwner::Unowned), "a newer node may be about to register");
    assert_eq!(
        (registrar.next_request(NOW), registrar.poll_timeout()),
        (None, Some(NOW + OWNER_CONFIRM_DELAY))
    );
    let later = NOW + OWNER_CONFIRM_DELAY;
    assert_eq!(registrar.next_request(later), Some(MasterRequest::NameOwner));
    assert!(registrar.on_owner(later, &NameOwner::Unowned));
    assert_eq!(registrar.next_request(later), register_a());
    assert!(registrar.is_list_additive(later));
    assert!(!registrar.is_list_additive(later + ADDITIVE_PERIOD));
}

#[test]
fn master_that_knows_node_gets_everything_again() {
    let mut registrar = known();
    assert!(registrar.connection_lost());
    assert!(registrar.on_owner(NOW, &NameOwner::Own));
    assert_eq!(registrar.next_request(NOW), register_a());
}

#[test]
fn silent_master_is_retried_until_it_answers() {
    let mut registrar = known();
    registrar.connection_lost();
    assert!(registrar.on_no_answer(NOW));
    assert_eq!(registrar.poll_timeout(), Some(NOW + RETRY_INTERVAL));
    assert_eq!(registrar.next_request(NOW), None);
    assert_eq!(registrar.next_request(NOW + RETRY_INTERVAL), Some(MasterRequest::NameOwner));
    assert!(!registrar.on_no_answer(NOW + RETRY_INTERVAL), "no news the second time");
    assert_eq!(registrar.next_request(NOW + RETRY_INTERVAL + RETRY_INTERVAL), Some(MasterRequest::NameOwner));
}

#[test]
fn name_taken_by_another_is_not_registered() {
    for doubts in [false, true] {
        let mut registrar = known();
        registrar.connection_lost();
        if doubts {
            registrar.on_owner(NOW, &NameOwner::Unowned);
            registrar.next_request(NOW + OWNER_CONFIRM_DELAY);
        }
        assert!(!registrar.on_owner(NOW, &NameOwner::Foreign));
        registrar.want(Role::Subscriber, "/b");
        assert_eq!((registrar.next_request(NOW), registrar.end()), (None, Some(Vec::new())));
    }
}

#[test]
fn unknown_node_registers_immediately() {
    let mut registrar = Registrar::new(false);
    registrar.want(Role::Subscriber, "/a");
    registrar.next_request(NOW);
    assert!(registrar.on_no_answer(NOW));
    assert_eq!(
        registrar.next_request(NOW + RETRY_INTERVAL),
        Some(MasterRequest::Register(Role::Subscriber, "/a".into()))
    );
}

#[test]
fn unwanted_entry_is_unregistered_once_master_answers() {
    let mut registrar = known();
    registrar.connection_lost();
    registrar.forget(Role::Publisher, "/a");
    assert_eq!(registrar.next_request(NOW), None);
    registrar.on_owner(NOW, &NameOwner::Own);
    assert_eq!(registrar.next_request(NOW), Some(MasterRequest::Unregister(Role::Publisher, "/a".into())));
    registrar.on_no_answer(NOW);
    registrar.next_request(NOW + RETRY_INTERVAL);
    registrar.on_owner(NOW + RETRY_INTERVAL, &NameOwner::Own);
    assert_eq!(
        registrar.next_request(NOW + RETRY_INTERVAL),
        Some(MasterRequest::Unregister(Role::Publisher, "/a".into()))
    );
    registrar.unregistered(Role::Publisher, "/a");
    assert_eq!(registrar.end(), Some(Vec::new()));
}

#[test]
fn entry_unknown_to_master_is_dropped_silently() {
    let mut registrar = Registrar::new(false);
    registrar.want(Role::Publisher, "/a");
    registrar.forget(Role::Publisher, "/a");
    assert_eq!((registrar.next_request(NOW), registrar.end()), (None, Some(Vec::new())));
}

#[test]
fn entry_wanted_again_is_registered_again() {
    let mut registrar = known();
    registrar.forget(Role::Publisher, "/a");
    assert_eq!(registrar.next_request(NOW), Some(MasterRequest::Unregister(Role::Publisher, "/a".into())));
    registrar.want(Role::Publisher, "/a");
    assert_eq!(registrar.next_request(NOW), register_a());
    registrar.unregistered(Role::Publisher, "/a");
    assert!(registrar.registered(Role::Publisher, "/a", true));
    assert_eq!(registrar.end(), Some(vec![(Role::Publisher, "/a".into())]));
}

#[test]
fn end_is_reported_once() {
    let mut registrar = known();
    assert_eq!(registrar.end(), Some(vec![(Role::Publisher, "/a".into())]));
    assert_eq!(registrar.end(), None);
}
