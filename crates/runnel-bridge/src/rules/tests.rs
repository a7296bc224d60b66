use super::*;

fn name(text: &str) -> TypeName {
    TypeName::parse(text).unwrap()
}

fn rules(text: &str) -> Rules {
    let mut rules = Rules::none();
    rules.add(text).unwrap();
    rules
}

#[test]
fn built_in_rules_are_valid() {
    assert_eq!(parse::rules(BUILT_IN).unwrap().len(), 5);
    let rules = Rules::default();
    let fields = rules.fields(&name("rosgraph_msgs/Log"), &name("rcl_interfaces/Log")).unwrap();
    assert_eq!(fields[0].ros1.parts(), ["header", "stamp"]);
}

#[test]
fn package_rule_renames_all_types() {
    let rules = rules("- ros1_package_name: old_msgs\n  ros2_package_name: 'new_interfaces'\n");
    let [one, two] = [name("old_msgs/A"), name("new_interfaces/A")];
    let counterparts = |of, name| rules.counterparts(Kind::Message, of, name);
    assert_eq!(counterparts(Generation::Ros1, &one), [two.clone(), one.clone()]);
    assert_eq!(counterparts(Generation::Ros2, &two), [one.clone(), two.clone()]);
    assert!(rules.correspond(Kind::Message, &one, &two));
    assert!(!rules.correspond(Kind::Message, &one, &name("new_interfaces/B")));
    assert_eq!(rules.fields(&one, &two), None);
}

#[test]
fn message_rule_precedes_package_rule() {
    let rules = rules(
        "- {ros1_package_name: a, ros2_package_name: b}\n\
         - {ros1_package_name: a, ros2_package_name: b, ros1_message_name: X, ros2_message_name: Y, fields_1_to_2: {p.q: r}}\n",
    );
    let names = rules.counterparts(Kind::Message, Generation::Ros1, &name("a/X"));
    assert_eq!(names, [name("b/Y"), name("b/X"), name("a/X")]);
    let fields = rules.fields(&name("a/X"), &name("b/Y")).unwrap();
    assert_eq!((fields[0].ros1.parts().len(), fields[0].ros2.parts()), (2, &["r".to_owned()][..]));
    assert_eq!(rules.fields(&name("a/X"), &name("b/X")), None);
}

#[test]
fn later_rules_precede_built_in_rules() {
    let mut rules = Rules::default();
    let own = "[{ros1_package_name: std_msgs, ros2_package_name: mine, ros1_message_name: Time, ros2_message_name: T}]";
    rules.add(own).unwrap();
    let names = rules.counterparts(Kind::Message, Generation::Ros1, &name("std_msgs/Time"));
    assert_eq!(names, [name("mine/T"), name("builtin_interfaces/Time"), name("std_msgs/Time")]);
}

#[test]
fn service_fields_belong_to_request_or_response() {
    let rules = rules(
        "- ros1_package_name: a\n  ros2_package_name: b\n  ros1_service_name: S\n  ros2_service_name: T\n  \
         request_fields_1_to_2: {x: y}\n",
    );
    assert!(rules.correspond(Kind::Service, &name("a/S"), &name("b/T")));
    assert!(!rules.correspond(Kind::Message, &name("a/S"), &name("b/T")));
    assert!(rules.fields(&name("a/SRequest"), &name("b/TRequest")).is_some());
    assert!(rules.fields(&name("a/SResponse"), &name("b/TResponse")).is_none());
}

#[test]
fn faulty_rule_is_named() {
    for (text, rule, word) in [
        ("a: b", None, "list"),
        ("- ros1_package_name: a", Some(1), "ros2_package_name"),
        ("- {ros1_package_name: a, ros2_package_name: b}\n- 5", Some(2), "mapping"),
        (
            "- {ros1_package_name: a, ros2_package_name: b, ros1_message_name: c}",
            Some(1),
            "ros2_message_name",
        ),
        ("- {ros1_package_name: a, ros2_package_name: b, colour: c}", Some(1), "colour"),
        (
            "- {ros1_package_name: a, ros2_package_name: b, fields_1_to_2: {x: y}}",
            Some(1),
            "ros1_message_name",
        ),
        ("- {ros1_package_name: [], ros2_package_name: b}", Some(1), "ros1_package_name"),
        (
            "- {ros1_package_name: a, ros2_package_name: b, ros1_message_name: c, ros2_message_name: c, fields_1_to_2: {x..y: z}}",
            Some(1),
            "header.stamp",
        ),
    ] {
        let error = Rules::none().add(text).unwrap_err();
        assert_eq!(error.rule, rule, "{text}");
        assert!(error.to_string().contains(word), "{text}: {error}");
    }
    assert!(Rules::none().add("").is_ok());
}
