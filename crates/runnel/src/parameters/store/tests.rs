//! Tests of the rules by which parameters are declared, set and deleted. Those of types and
//! ranges are in `parameters::check`.

use super::*;

fn declaration(name: &str, type_: u8) -> ParameterDescriptor {
    ParameterDescriptor { name: name.into(), type_, ..ParameterDescriptor::default() }
}

fn declare(
    store: &mut Store,
    descriptor: ParameterDescriptor,
    default: ParameterValue,
) -> Result<ParameterValue, String> {
    let value =
        store.initial_value(&descriptor, Some(default), false, None).map_err(|error| error.to_string())?;
    store.declare(descriptor, value.clone());
    Ok(value.expect("it has a default"))
}

fn store_with(overrides: &[(&str, ParameterValue)]) -> Store {
    let given = overrides.iter().map(|(name, value)| {
        ((*name).to_owned(), Override { value: value.clone(), origin: "robot.yaml line 3".into() })
    });
    Store::new(given.collect(), false)
}

fn refusal(store: &Store, parameters: &[Parameter]) -> String {
    store.check(parameters).map_or_else(|error| error.to_string(), |()| "accepted".into())
}

#[test]
fn override_replaces_default() {
    let mut store = store_with(&[("rate", 5.5.into())]);
    assert_eq!(declare(&mut store, declaration("rate", 3), 10.0.into()), Ok(5.5.into()));
    assert_eq!(declare(&mut store, declaration("gain", 3), 10.0.into()), Ok(10.0.into()));
    let ignored = store.initial_value(&declaration("rate2", 3), Some(1.0.into()), true, None);
    assert_eq!(ignored, Ok(Some(1.0.into())));
    let again = declare(&mut store, declaration("rate", 3), 10.0.into());
    assert_eq!(again, Err("parameter rate is already declared".into()));
}

#[test]
fn override_of_other_type_is_refused_by_origin() {
    let mut store = store_with(&[("rate", "fast".into()), ("count", 1.5.into()), ("on", 1.into())]);
    let rate = declare(&mut store, declaration("rate", 3), 10.0.into());
    let expected = "parameter rate is of type double, setting it to the string \"fast\" is not allowed (robot.yaml line 3)";
    assert_eq!(rate, Err(expected.into()));
    let count = declare(&mut store, declaration("count", 2), 1.into()).unwrap_err();
    assert!(
        count.starts_with("parameter count is of type integer, setting it to the double 1.5 is not allowed"),
        "{count}"
    );
    assert!(declare(&mut store, declaration("on", 1), true.into()).is_err());
    assert!(!store.has("rate") && !store.has("count"), "they are not declared");
}

#[test]
fn integer_override_becomes_double() {
    let mixed = ParameterValue::List(vec![1.into(), 2.5.into()]);
    let texts = ParameterValue::List(vec![1.into(), "two".into()]);
    let empty = ParameterValue::List(vec![]);
    let mut store = store_with(&[
        ("rate", 5.into()),
        ("gains", vec![1, 2].into()),
        ("mixed", mixed),
        ("texts", texts),
        ("names", empty),
    ]);
    assert_eq!(declare(&mut store, declaration("rate", 3), 10.0.into()), Ok(5.0.into()));
    let array = || ParameterValue::from(vec![0.5]);
    assert_eq!(declare(&mut store, declaration("gains", 8), array()), Ok(vec![1.0, 2.0].into()));
    assert_eq!(declare(&mut store, declaration("mixed", 8), array()), Ok(vec![1.0, 2.5].into()));
    let texts = declare(&mut store, declaration("texts", 8), array());
    assert_eq!(
        texts,
        Err("parameter texts: ROS 2 has no parameters of kind list (robot.yaml line 3)".into())
    );
    let names = declare(&mut store, declaration("names", 9), vec!["a"].into());
    assert_eq!(names, Ok(ParameterValue::StringArray(vec![])));
    assert_eq!(
        refusal(&store, &[Parameter::new("rate", 5)]),
        "parameter rate is of type double, setting it to the integer 5 is not allowed",
        "a later value must have the type"
    );
}

#[test]
fn default_must_fit_its_own_descriptor() {
    let mut store = store_with(&[("rate", 5.0.into())]);
    assert!(declare(&mut store, declaration("rate", 3), 10.into()).is_err());
    assert_eq!(
        declare(&mut store, declaration("", 3), 1.0.into()),
        Err("the name of a parameter is empty".into())
    );
    assert!(declare(&mut store, declaration("a\nb", 3), 1.0.into()).is_err());
}

#[test]
fn parameter_without_value_is_declared_but_not_set() {
    let mut store = store_with(&[]);
    store.declare(declaration("rate", 3), None);
    assert!(store.has("rate"));
    assert!(matches!(store.get("rate"), Err(ParameterError::NotSet { .. })));
    assert_eq!((store.type_of("rate"), store.describe("rate").unwrap().type_), (Ok(0), 3));
    let change = store.set(&[Parameter::new("rate", 2.0)]);
    assert_eq!((change.new.len(), change.changed.len()), (1, 0), "it is new with its first value");
    assert_eq!(store.get("rate"), Ok(Some(&2.0.into())));
}

#[test]
fn read_only_and_undeclared_parameters_are_refused() {
    let mut store = store_with(&[]);
    let fixed = ParameterDescriptor { read_only: true, ..declaration("fixed", 2) };
    declare(&mut store, fixed, 1.into()).unwrap();
    assert_eq!(
        refusal(&store, &[Parameter::new("fixed", 2)]),
        "parameter fixed cannot be set because it is read-only. Try: -p fixed:=VALUE at the start of the node"
    );
    assert_eq!(refusal(&store, &[Parameter::new("other", 2)]), "parameter other is not declared");
    assert_eq!(store.undeclare("fixed"), Err(ParameterError::ReadOnly { name: "fixed".into() }));
    assert_eq!(store.undeclare("other"), Err(ParameterError::NotDeclared { name: "other".into() }));
    assert_eq!(refusal(&store, &[]), ParameterError::Empty.to_string());
}

#[test]
fn only_dynamic_parameter_is_deleted_by_setting() {
    let mut store = store_with(&[]);
    declare(&mut store, declaration("rate", 3), 1.0.into()).unwrap();
    let dynamic = ParameterDescriptor { dynamic_typing: true, ..declaration("any", 0) };
    declare(&mut store, dynamic, 1.into()).unwrap();
    assert_eq!(store.describe("any").unwrap().type_, 2);
    assert!(refusal(&store, &[Parameter::not_set("rate")]).starts_with("parameter rate cannot be deleted"));
    let text = [Parameter::new("any", "text")];
    assert_eq!(refusal(&store, &text), "accepted");
    store.set(&text);
    assert_eq!(store.describe("any").unwrap().type_, 4, "the descriptor follows the value");
    let change = store.set(&[Parameter::not_set("any")]);
    assert_eq!(change, Change { deleted: text.into(), ..Change::default() });
    assert!(!store.has("any"));
    assert_eq!(store.undeclare("rate").unwrap().deleted, [Parameter::new("rate", 1.0)]);
}

#[test]
fn undeclared_parameters_are_accepted_up_to_limit() {
    let mut store = Store::new(Overrides::default(), true);
    assert_eq!((store.get("any"), store.type_of("any")), (Ok(None), Ok(0)));
    assert_eq!(store.describe("any").unwrap().name, "any");
    let many: Vec<Parameter> =
        (0..MOST_IMPLICIT).map(|number| Parameter::new(format!("p{number}"), 1)).collect();
    assert_eq!(refusal(&store, &many), "accepted");
    assert_eq!(store.set(&many).new.len(), MOST_IMPLICIT);
    assert_eq!(refusal(&store, &[Parameter::new("p5", "text")]), "accepted", "its type is dynamic");
    let one_more = refusal(&store, &[Parameter::new("one_more", 1)]);
    assert_eq!(one_more, "the node has 10000 undeclared parameters, which is the limit");
    store.set(&[Parameter::not_set("p5")]);
    assert_eq!(refusal(&store, &[Parameter::new("one_more", 1)]), "accepted", "a deleted one does not count");
}

#[test]
fn values_of_undeclared_parameters_are_limited_in_bytes() {
    let mut store = Store::new(Overrides::default(), true);
    let set = |store: &mut Store, name: &str, value: ParameterValue| {
        let parameters = [Parameter::new(name, value)];
        store.check(&parameters).map(|()| drop(store.set(&parameters)))
    };
    let half = || ParameterValue::ByteArray(vec![0; MOST_IMPLICIT_BYTES / 2]);
    let refused = Err(ParameterError::TooManyBytes { limit: MOST_IMPLICIT_BYTES });
    assert_eq!(set(&mut store, "a", half()), Ok(()));
    assert_eq!(set(&mut store, "b", half()), refused);
    assert_eq!(set(&mut store, "a", 1.into()), Ok(()), "a shorter value frees memory");
    assert_eq!(set(&mut store, "b", half()), Ok(()));
    let deleted = [Parameter::not_set("b")];
    store.check(&deleted).unwrap();
    store.set(&deleted);
    assert_eq!(set(&mut store, "c", half()), Ok(()));
    assert_eq!(
        set(&mut store, &"n".repeat(1025), 1.into()),
        Err(ParameterError::NameTooLong { limit: 1024 })
    );
}
