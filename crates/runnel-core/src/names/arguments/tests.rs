use super::*;
use alloc::vec;

fn parse(line: &str) -> Result<Arguments, ArgumentError> {
    Arguments::parse(line.split_whitespace())
}

fn rule(node: Option<&str>, from: &str, to: &str) -> RemapRule {
    RemapRule { node: node.map(Into::into), from: from.into(), to: to.into() }
}

fn param(node: Option<&str>, name: &str, value: &str, is_yaml: bool) -> ParamArgument {
    ParamArgument { node: node.map(Into::into), name: name.into(), value: value.into(), is_yaml }
}

#[test]
fn arguments_of_ros_1_stand_anywhere() {
    let line = "file chatter:=/talk _rate:=10 __name:=n __ns:=robot1/ __ip:=10.0.0.1 __hostname:=h \
                __master:=http://m:11311 __log:=/tmp/l --verbose ~x:=y _empty:=";
    let arguments = parse(line).unwrap();
    let expected = Arguments {
        remaps: vec![rule(None, "chatter", "/talk"), rule(None, "~x", "y")],
        node_name: Some("n".into()),
        namespace: Some("/robot1".into()),
        master: Some("http://m:11311".into()),
        ip: Some("10.0.0.1".into()),
        hostname: Some("h".into()),
        log_file: Some("/tmp/l".into()),
        params: vec![param(None, "rate", "10", false), param(None, "empty", "", false)],
        rest: vec!["file".into(), "--verbose".into()],
        ..Arguments::default()
    };
    assert_eq!(arguments, expected);
}

#[test]
fn arguments_of_ros_2_stand_between_ros_args_and_a_double_dash() {
    let line = "a --ros-args -r a:=b --remap __node:=n -r __ns:=/x -r talker:c:=d -p k:=v --params-file f.yaml \
                --log-level debug --enclave /e --disable-rosout-logs -- -r z --ros-args -p node:q:=[1,2]";
    let arguments = parse(line).unwrap();
    let expected = Arguments {
        remaps: vec![rule(None, "a", "b"), rule(Some("talker"), "c", "d")],
        node_name: Some("n".into()),
        namespace: Some("/x".into()),
        params: vec![param(None, "k", "v", true), param(Some("node"), "q", "[1,2]", true)],
        params_files: vec!["f.yaml".into()],
        log_levels: vec!["debug".into()],
        disable_rosout_logs: true,
        enclave: Some("/e".into()),
        rest: vec!["a".into(), "-r".into(), "z".into()],
        ..Arguments::default()
    };
    assert_eq!(arguments, expected);
}

#[test]
fn enclave_must_be_absolute_name() {
    assert_eq!(parse("--ros-args -e /").unwrap().enclave.as_deref(), Some("/"));
    let refused = parse("--ros-args --enclave robots/one").unwrap_err().to_string();
    assert_eq!(refused, r#"--enclave robots/one: name "robots/one": does not begin with a slash"#);
    assert!(parse("--ros-args --enclave /a;b").is_err());
}

#[test]
fn similar_arguments_are_left_to_the_program() {
    let arguments = parse("--expr:=x 1:=2 :=x a.b:=c __unknown:=x").unwrap();
    assert_eq!(arguments.rest, ["--expr:=x", "1:=2", ":=x", "a.b:=c", "__unknown:=x"]);
    assert_eq!(arguments.remaps, []);
}

#[test]
fn last_rule_counts_in_ros_1_and_first_in_ros_2() {
    let remap = |line: &str| {
        let remapping = parse(line).unwrap().remapping("/", "n").unwrap();
        remapping.remap("/a").to_string()
    };
    assert_eq!(remap("a:=b a:=c"), "/c");
    assert_eq!(remap("--ros-args -r a:=b -r a:=c"), "/b");
}

#[test]
fn user_may_override_the_node_name() {
    let node = |line: &str| parse(line).unwrap().node("talker").unwrap();
    assert_eq!(node(""), ("/".into(), "talker".into()));
    assert_eq!(node("__name:=n __ns:=x"), ("/x".into(), "n".into()));
    assert_eq!(node("--ros-args -r talker:__node:=a -r talker:__ns:=/b"), ("/b".into(), "a".into()));
    assert_eq!(node("--ros-args -r other:__node:=a"), ("/".into(), "talker".into()));
}

#[test]
fn first_matching_node_rule_counts_in_ros_2() {
    let node = |line: &str| parse(&format!("--ros-args {line}")).unwrap().node("talker").unwrap();
    let is = |namespace: &str, name: &str| (namespace.to_string(), name.to_string());
    assert_eq!(node("-r __node:=a -r __node:=b"), is("/", "a"));
    assert_eq!(node("-r talker:__node:=x -r __node:=y"), is("/", "x"));
    assert_eq!(node("-r __node:=y -r talker:__node:=x"), is("/", "y"));
    assert_eq!(node("-r other:__node:=x -r __node:=y"), is("/", "y"));
    assert_eq!(node("-r __ns:=/a -r __ns:=/b"), is("/a", "talker"));
    assert_eq!(node("-r talker:__ns:=/x -r __ns:=/y"), is("/x", "talker"));
    assert_eq!(node("-r __ns:=/y -r talker:__ns:=/x"), is("/y", "talker"));
}

#[test]
fn parameters_for_other_nodes_are_ignored() {
    let arguments = parse("_a:=1 --ros-args -p b:=2 -p me:c:=3 -p other:d:=4").unwrap();
    let mine = arguments.params_of("me").map(|param| (param.name.as_str(), param.value.as_str()));
    assert!(mine.eq([("a", "1"), ("b", "2"), ("c", "3")]));
}

#[test]
fn unsupported_argument_is_named() {
    let line = "a:=b _rate:=5 __log:=/l --ros-args -p n:x:=1 --params-file f --log-level debug \
                --log-file-name talker --log-config-file c -e /e \
                --disable-stdout-logs --enable-rosout-logs";
    assert!(parse(line).unwrap().not_followed().eq(["--log-config-file c"]));
    assert_eq!(parse("a:=b __name:=n __ip:=10.0.0.1").unwrap().not_followed().next(), None);
}

#[test]
fn last_switch_of_log_destination_counts() {
    let arguments = parse(
        "--ros-args --disable-rosout-logs --enable-stdout-logs --disable-external-lib-logs \
         --enable-rosout-logs --disable-stdout-logs --log-file-name a --log-level warn --log-level b:=info",
    )
    .unwrap();
    let disabled =
        [arguments.disable_rosout_logs, arguments.disable_stdout_logs, arguments.disable_external_lib_logs];
    assert_eq!(disabled, [false, true, true]);
    assert_eq!(arguments.log_file_name.as_deref(), Some("a"));
    assert_eq!(arguments.log_levels, ["warn", "b:=info"]);
}

#[test]
fn error_names_argument() {
    let table = [
        ("--ros-args -r", "-r: a value should follow"),
        ("--ros-args --nonsense", "--nonsense: not a ROS argument (those end with --)"),
        ("--ros-args -r ab", "ab: should have the form NAME:=VALUE"),
        ("--ros-args -p :=x", ":=x: should have the form NAME:=VALUE"),
        ("--ros-args -p n::=x", "n::=x: should have the form NAME:=VALUE"),
        (
            "--ros-args -p a/b:c:=x",
            "a/b:c:=x: node name \"a/b\": may not contain '/'. Valid are letters, digits and '_'; no digit first",
        ),
        ("--ros-args -r a:=b-c", "a:=b-c: name \"b-c\": may not contain '-'"),
        (
            "drain:=1",
            "drain:=1: name \"1\": may not begin with '1'; NAME:=OTHER remaps a name. Try: _drain:=1 to set a parameter",
        ),
        ("a:=", "a:=: should have the form NAME:=VALUE"),
        (
            "__name:=a/b",
            "__name:=a/b: node name \"a/b\": may not contain '/'. Valid are letters, digits and '_'; no digit first",
        ),
        ("__ns:=a~", "__ns:=a~: name \"/a~\": may not contain '~'"),
    ];
    for (line, expected) in table {
        assert_eq!(format!("{}", parse(line).unwrap_err()), expected);
    }
}
