//! Tests of callbacks and observers of changes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;

use super::*;
use crate::parameters::ParameterCallbackHandle;
use crate::sync::TryMutex as Shared;

fn descriptor(name: &str, type_: u8) -> ParameterDescriptor {
    ParameterDescriptor { name: name.into(), type_, ..ParameterDescriptor::default() }
}

/// Parameters `rate`, a double, and `name`, a string.
fn parameters() -> Arc<NodeParameters> {
    let parameters = NodeParameters::new(Overrides::default(), false);
    parameters.declare(descriptor("rate", 3), Some(1.0.into()), false, None).unwrap();
    parameters.declare(descriptor("name", 4), Some("adam".into()), false, None).unwrap();
    parameters
}

fn reason(result: Result<(), ParameterError>) -> String {
    result.map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn refused_group_changes_nothing() {
    let parameters = parameters();
    let group = vec![Parameter::new("rate", 2.0), Parameter::new("name", 5)];
    assert_eq!(
        reason(parameters.set_atomically(group)),
        "parameter name is of type string, setting it to the integer 5 is not allowed"
    );
    assert_eq!(parameters.get("rate"), Ok(Some(1.0.into())));
    let group = vec![Parameter::new("rate", 2.0), Parameter::new("name", "eve")];
    parameters.set_atomically(group).unwrap();
    assert_eq!(parameters.by_prefix(""), [("name".into(), "eve".into()), ("rate".into(), 2.0.into())]);
}

#[test]
fn callback_refuses_group_with_reason() {
    let parameters = parameters();
    let low = |group: &[Parameter]| {
        let is_high = group.iter().any(|parameter| parameter.value == Some(100.0.into()));
        if is_high { Err("too fast".to_owned()) } else { Ok(()) }
    };
    let callback = ParameterCallbackHandle::new(&parameters, parameters.add_on_set(low));
    assert_eq!(reason(parameters.set(Parameter::new("rate", 100.0))), "too fast");
    assert_eq!(parameters.get("rate"), Ok(Some(1.0.into())));
    let declared = parameters.declare(descriptor("gain", 3), Some(100.0.into()), false, None);
    assert_eq!(declared, Err(ParameterError::Refused { reason: "too fast".into() }));
    assert!(!parameters.has("gain"));
    drop(callback);
    assert_eq!(reason(parameters.set(Parameter::new("rate", 100.0))), "");
}

#[test]
fn callbacks_run_in_order_around_change() {
    let parameters = parameters();
    let (into, steps) = channel();
    let step = |name: &'static str| {
        let (into, parameters) = (into.clone(), Arc::clone(&parameters));
        move || into.send((name, parameters.get("rate").unwrap())).unwrap()
    };
    let (first, second, after) = (step("first"), step("second"), step("after"));
    let (before, observed) = (step("before"), Shared::new(step("observed")));
    parameters.add_on_set(move |_| {
        first();
        Ok(())
    });
    parameters.add_on_set(move |_| {
        second();
        Ok(())
    });
    parameters.add_post_set(move |_| after());
    parameters.add_pre_set(move |group| {
        before();
        group.push(Parameter::new("name", "eve"));
    });
    parameters.add_observer(Arc::new(move |change| {
        assert_eq!(change.changed.len(), 2, "with the parameter that the pre-set callback added");
        observed.try_lock().unwrap()();
    }));
    parameters.set(Parameter::new("rate", 2.0)).unwrap();
    let steps: Vec<_> = steps.try_iter().map(|(name, rate)| (name, rate.unwrap())).collect();
    let (old, new) = (ParameterValue::from(1.0), ParameterValue::from(2.0));
    let expected = [
        ("before", old.clone()),
        ("second", old.clone()),
        ("first", old),
        ("observed", new.clone()),
        ("after", new),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn pre_set_callback_may_empty_the_list() {
    let parameters = parameters();
    parameters.add_pre_set(|group| group.clear());
    assert_eq!(parameters.set(Parameter::new("rate", 2.0)), Err(ParameterError::Empty));
}

#[test]
fn callback_cannot_change_parameters() {
    let parameters = parameters();
    let (into, refused) = channel();
    let inner = Arc::clone(&parameters);
    let id = parameters.add_post_set(move |_| into.send(inner.set(Parameter::new("rate", 3.0))).unwrap());
    parameters.set(Parameter::new("rate", 2.0)).unwrap();
    assert_eq!(refused.recv().unwrap(), Err(ParameterError::ChangedInCallback));
    assert_eq!(parameters.get("rate"), Ok(Some(2.0.into())));
    // It owns a handle of the parameters.
    parameters.remove_callback(id);
}

#[test]
fn change_of_other_thread_waits_for_callback() {
    let parameters = parameters();
    let ((entered, has_entered), (go_on, may_go_on)) = (channel(), channel::<()>());
    let mut is_first = true;
    parameters.add_on_set(move |_| {
        if std::mem::take(&mut is_first) {
            entered.send(()).unwrap();
            may_go_on.recv().unwrap();
        }
        Ok(())
    });
    let (first, second) = (Arc::clone(&parameters), Arc::clone(&parameters));
    let slow = thread::spawn(move || first.set(Parameter::new("rate", 2.0)));
    has_entered.recv().unwrap();
    let waiting = thread::spawn(move || second.set(Parameter::new("rate", 3.0)));
    assert_eq!(parameters.get("rate"), Ok(Some(1.0.into())), "reading does not wait");
    go_on.send(()).unwrap();
    assert_eq!([slow, waiting].map(|thread| thread.join().unwrap()), [Ok(()), Ok(())]);
    assert_eq!(parameters.get("rate"), Ok(Some(3.0.into())));
}

#[test]
fn panicking_callback_ends_its_change() {
    let parameters = parameters();
    let id = parameters.add_on_set(|_| panic!("the panic of this test"));
    let set = || parameters.set(Parameter::new("rate", 2.0));
    catch_unwind(AssertUnwindSafe(set)).unwrap_err();
    parameters.remove_callback(id);
    assert_eq!(parameters.set(Parameter::new("rate", 3.0)), Ok(()));
}

#[test]
fn prefix_selects_parameters_below_it() {
    let parameters = parameters();
    for name in ["limits.low", "limits.high.soft", "limitsx"] {
        parameters.declare(descriptor(name, 2), Some(1.into()), false, None).unwrap();
    }
    let names: Vec<String> = parameters.by_prefix("limits").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["high.soft", "low"]);
}
