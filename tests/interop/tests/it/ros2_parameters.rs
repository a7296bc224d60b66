//! Parameters in ROS 2 between Runnel and rclpy, in both directions, and by the commands.

use std::fs;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interop::ros2::{Distro, Ros2Graph};
use interop::ros2_checks::expect_line;
use interop::spinning::Spinning;
use interop::{TIMEOUT, built, outcome, ready, wait_until};
use runnel::{
    Context, Error, Node, Parameter, ParameterClient, ParameterDeclaration, ParameterError, ParameterValue,
};
use runnel_testkit::process::deadline_in;

const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];
const LONG: Duration = Duration::from_secs(TIMEOUT);

/// A node with the parameters that `peers/rclpy/parameter_client.py` expects.
fn declaring_node(context: &Context) -> Node {
    let node = context.create_node("/robot/arm").unwrap();
    let rate = ParameterDeclaration::new(10.0).description("Hz").range(1.0..=100.0);
    node.declare_parameter("rate", rate).unwrap();
    node.declare_parameter("limits.low", ParameterDeclaration::new(2).range(0..=100)).unwrap();
    node.declare_parameter("fixed", ParameterDeclaration::new("text".to_owned()).read_only()).unwrap();
    let any = ParameterDeclaration::new(ParameterValue::from(1)).dynamic_typing();
    node.declare_parameter("any", any).unwrap();
    node
}

/// rclpy uses the parameters of a node of Runnel.
pub fn check_own_parameters(distro: Distro) {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let node = declaring_node(&near.context);
    let printed = outcome(graph.rclpy(distro, "parameter_client.py", "client", &["/robot/arm"])).success();
    let expected = [
        "list any,fixed,limits.low,rate,use_sim_time limits",
        "below limits.low",
        "get 10.0 2 text",
        "unknown 0",
        "types [3, 2, 4]",
        "describe rate 3 Hz 1.0 100.0",
        "read-only False True",
        "set True ",
        "set False parameter rate: 200.0 does not comply with floating point range 1.0 to 100.0",
        "set False parameter limits.low is of type integer, setting it to the string \"x\" is not allowed",
        "set False parameter fixed cannot be set because it is read-only. Try: -p fixed:=VALUE at the start of the node",
        "set False parameter nope is not declared",
        "set True ",
        "atomic False parameter limits.low: 200 does not comply with integer range 0 to 100",
        "atomic True ",
        "delete True ",
        "finally 40.0 7",
    ];
    let is_answer = |line: &&String| !["ready", "done"].contains(&line.as_str());
    let is_event = |line: &String| line.starts_with("event ") || line.starts_with("deleted ");
    let answers: Vec<&String> = printed.iter().filter(is_answer).filter(|line| !is_event(line)).collect();
    assert_eq!(answers, expected, "{distro:?}");
    let events: Vec<&String> = printed.iter().filter(|line| is_event(line)).collect();
    let expected = [
        "event /robot/arm rate",
        "event /robot/arm rate",
        "event /robot/arm rate",
        "event /robot/arm limits.low",
        "deleted /robot/arm any",
    ];
    assert_eq!(events, expected, "{distro:?}");
    assert_eq!(node.get_parameter::<f64>("rate").unwrap(), 40.0);
    assert!(!node.has_parameter("any"));
}

#[test]
fn rclpy_uses_parameters_of_runnel_node() {
    DISTROS.into_iter().for_each(check_own_parameters);
}

fn reason(result: &Result<(), ParameterError>) -> String {
    result.as_ref().map_or_else(ToString::to_string, |()| String::new())
}

/// Runnel uses the parameters of a node of rclpy.
pub fn check_parameters_of_rclpy(distro: Distro) {
    let graph = Ros2Graph::new();
    let mut peer = ready(graph.rclpy(distro, "parameter_node.py", "arm", &[]));
    let far = Spinning::new(graph.context());
    let client: ParameterClient =
        far.context.create_node("tool").unwrap().create_parameter_client("/arm").unwrap().timeout(LONG);
    assert!(client.wait_for_services(LONG).unwrap());
    let events: Arc<Mutex<Vec<String>>> = Arc::default();
    let into = Arc::clone(&events);
    let subscription = client
        .on_parameter_event(move |event| {
            let names = event.changed_parameters.iter().map(|parameter| parameter.name.clone());
            into.lock().unwrap().extend(names);
        })
        .unwrap();
    wait_until("its events are matched", deadline_in(TIMEOUT), || subscription.publisher_count() == 2);
    let names = client.list_parameters(&["limits"], 0).unwrap().names;
    assert_eq!(names, ["limits.low"], "{distro:?}");
    let values = client.get_parameters(&["rate", "limits.low", "fixed", "names"]).unwrap();
    let expected: [ParameterValue; 4] = [10.0.into(), 2.into(), "text".into(), vec!["a", "b"].into()];
    assert_eq!(values, expected.map(Some));
    let unknown = client.get_parameters(&["rate", "nope"]).unwrap_err();
    assert!(matches!(unknown, Error::NodeParameter(ParameterError::NotDeclared { .. })), "{unknown}");
    assert_eq!(client.get_parameter_types(&["rate", "any"]).unwrap(), [3, 2]);
    let described = client.describe_parameters(&["rate"]).unwrap().remove(0);
    assert_eq!((&*described.description, described.floating_point_range[0].step), ("Hz", 0.5));
    let set = [
        Parameter::new("rate", 20.0),
        Parameter::new("rate", 20),
        Parameter::new("limits.low", 3),
        Parameter::new("fixed", "x"),
        Parameter::new("nope", 1),
    ];
    let reasons: Vec<String> = client.set_parameters(&set).unwrap().iter().map(reason).collect();
    assert_eq!((&*reasons[0], &*reasons[2]), ("", "3 is odd"), "{reasons:?}");
    assert!([1, 3, 4].iter().all(|index| !reasons[*index].is_empty()), "{reasons:?}");
    expect_line(&mut peer, "rate 20.0");
    let group = [Parameter::new("rate", 30.0), Parameter::new("limits.low", 5)];
    assert_eq!(client.set_parameters_atomically(&group).unwrap_err().to_string(), "5 is odd");
    let group = [Parameter::new("rate", 30.0), Parameter::new("limits.low", 4)];
    client.set_parameters_atomically(&group).unwrap();
    let values = client.get_parameters(&["rate", "limits.low"]).unwrap();
    assert_eq!(values, [Some(30.0.into()), Some(4.into())]);
    let deleted = client.set_parameters(&[Parameter::not_set("any")]).unwrap();
    assert_eq!(deleted, [Ok(())]);
    let expected = ["rate", "rate", "limits.low"];
    wait_until("its events", deadline_in(TIMEOUT), || events.lock().unwrap().len() >= 3);
    assert_eq!(*events.lock().unwrap(), expected, "{distro:?}");
}

#[test]
fn runnel_uses_parameters_of_rclpy_node() {
    DISTROS.into_iter().for_each(check_parameters_of_rclpy);
}

/// Exit code, standard output and standard error of a command.
fn run(graph: &Ros2Graph, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = graph.command("timeout");
    command.args(["--kill-after=5", &TIMEOUT.to_string()]).arg(built("runnel")).arg("param").args(words);
    let output = command.arg("--ros2").stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn commands_use_parameters_of_rclpy_node() {
    let graph = Ros2Graph::new();
    let _peer = ready(graph.rclpy(Distro::Kilted, "parameter_node.py", "arm", &[]));
    let success = |words: &[&str]| {
        let (code, output, error) = run(&graph, words);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{words:?}: {output}");
        output
    };
    let names =
        "  any\n  fixed\n  limits.low\n  names\n  rate\n  start_type_description_service\n  use_sim_time\n";
    assert_eq!(success(&["list"]), format!("/arm:\n{names}"));
    assert_eq!(success(&["list", "/arm"]), names);
    let typed = success(&["list", "/arm", "--param-type", "--param-prefixes", "limits"]);
    assert_eq!(typed, "  limits.low (type: integer)\n");
    assert_eq!(success(&["get", "/arm", "rate"]), "Double value is: 10.0\n");
    assert_eq!(success(&["get", "/arm", "rate", "--hide-type"]), "10.0\n");
    assert_eq!(success(&["get", "/arm/limits/low", "--wait", "2"]), "Integer value is: 2\n");
    assert_eq!(success(&["set", "/arm", "rate", "20"]), "Set parameter successful\n");
    assert_eq!(success(&["get", "arm", "rate"]), "Double value is: 20.0\n");
    let (code, _, error) = run(&graph, &["set", "/arm", "limits.low", "3"]);
    assert_eq!((code, &*error), (Some(1), "error: Setting parameter failed: 3 is odd\n"));
    let (code, _, error) = run(&graph, &["get", "/arm", "nope"]);
    let expected = "error: parameter nope of /arm is not declared (see 'runnel param list /arm')\n";
    assert_eq!((code, &*error), (Some(1), expected));
    let expected = "Parameter name: rate\n  Type: double\n  Description: Hz\n  Constraints:\n    Min value: 1.0\n    \
                    Max value: 100.0\n    Step: 0.5\n";
    assert_eq!(success(&["describe", "/arm", "rate"]), expected);
    let expected = "/arm:\n  ros__parameters:\n    any: 1\n    fixed: text\n    limits:\n      low: 2\n    names:\n    - a\n    \
                    - b\n    rate: 20.0\n    start_type_description_service: true\n    use_sim_time: false\n";
    assert_eq!(success(&["dump", "/arm"]), expected);
    let file = graph.home().join("arm.yaml");
    fs::write(&file, "/arm:\n  ros__parameters:\n    rate: 30\n    limits: {low: 6}\n").unwrap();
    let file = file.to_str().unwrap();
    let loaded = success(&["load", "/arm", file]);
    assert_eq!(loaded, "Set parameter limits.low successful\nSet parameter rate successful\n");
    assert_eq!(success(&["get", "/arm", "limits.low"]), "Integer value is: 6\n");
    assert_eq!(success(&["delete", "/arm", "any"]), "Deleted parameter successfully\n");
    let (code, _, error) = run(&graph, &["get", "/nobody", "rate"]);
    assert_eq!((code, &*error), (Some(1), "error: no ROS 2 node /nobody (see 'runnel node list')\n"));
}

/// The values of each parameter type, by the names of the types in `rclpy.parameter.Parameter.Type`.
fn value_of_each_type() -> [(&'static str, ParameterValue); 9] {
    [
        ("bool", true.into()),
        ("integer", i64::MIN.into()),
        ("double", 2.5.into()),
        ("string", "grüß\n".into()),
        ("byte_array", vec![0_u8, 127, 128, 255].into()),
        ("bool_array", vec![true, false].into()),
        ("integer_array", vec![1, -1, i64::MAX].into()),
        ("double_array", vec![1.5, -0.25].into()),
        ("string_array", vec!["a", ""].into()),
    ]
}

/// A parameter of each type is read and set by rclpy's client, and changes of its type and other bad values are refused
/// with what is wrong.
pub fn check_types_of_own_parameters(distro: Distro) {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let node = near.context.create_node("/robot/arm").unwrap();
    for (name, value) in value_of_each_type() {
        node.declare_parameter(name, value).unwrap();
    }
    node.declare_parameter("count", ParameterDeclaration::new(2).range(0..=10).step(2)).unwrap();
    let printed = outcome(graph.rclpy(distro, "parameter_types.py", "types", &["/robot/arm"])).success();
    let reasons: Vec<&str> = printed.iter().filter_map(|line| line.strip_prefix("refused ")).collect();
    let expected = [
        "parameter count: 12 does not comply with integer range 0 to 10 in steps of 2",
        "parameter count: 3 does not comply with integer range 0 to 10 in steps of 2",
        "parameter count is of type integer, setting it to the double 2.0 is not allowed",
        "parameter bool is of type boolean, setting it to the integer 1 is not allowed",
        "parameter integer_array is of type integer array, setting it to the string array is not allowed",
        "parameter byte_array is of type byte array, setting it to the string \"x\" is not allowed",
        "parameter bool cannot be deleted: its type is static. Try: declare it with dynamic typing",
        "parameter nope is not declared",
        "the name of a parameter is empty",
        "parameter bool: there is no type with the number 77",
    ];
    assert_eq!(reasons, expected, "{distro:?}");
    assert_eq!(printed.iter().filter(|line| line.as_str() == "same").count(), 9, "{printed:?}");
    for (name, value) in value_of_each_type() {
        let set = node.get_parameter::<ParameterValue>(name).unwrap();
        assert_eq!((set.kind(), set == value), (value.kind(), false), "{name} has rclpy's value");
    }
    assert_eq!(node.get_parameter::<Vec<u8>>("byte_array").unwrap(), [1, 200]);
    assert_eq!(node.get_parameter::<Vec<i64>>("integer_array").unwrap(), [i64::MIN, 7]);
}

/// A parameter of each type of a node of rclpy is read and set by Runnel's client.
pub fn check_types_of_rclpy_parameters(distro: Distro) {
    let graph = Ros2Graph::new();
    let _peer = ready(graph.rclpy(distro, "parameter_types.py", "typed", &[]));
    let far = Spinning::new(graph.context());
    let client = far.context.create_node("tool").unwrap().create_parameter_client("/typed").unwrap();
    let client = client.timeout(LONG);
    assert!(client.wait_for_services(LONG).unwrap());
    let set: Vec<Parameter> =
        value_of_each_type().into_iter().map(|(name, value)| Parameter::new(name, value)).collect();
    let names = value_of_each_type().map(|(name, _)| name);
    let before = client.get_parameters(&names).unwrap();
    assert_eq!(client.get_parameter_types(&names).unwrap(), (1..=9).collect::<Vec<u8>>(), "{distro:?}");
    assert_eq!(before[4], Some(vec![1_u8, 200].into()), "{distro:?}");
    let results = client.set_parameters(&set).unwrap();
    assert!(results.iter().all(Result::is_ok), "{distro:?}: {results:?}");
    let after: Vec<_> = set.into_iter().map(|parameter| parameter.value).collect();
    assert_eq!(client.get_parameters(&names).unwrap(), after, "{distro:?}");
}

#[test]
fn parameter_of_each_type_crosses_both_ways() {
    check_types_of_own_parameters(Distro::Kilted);
    check_types_of_rclpy_parameters(Distro::Kilted);
}
