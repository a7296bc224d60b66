//! `rosparam`.

use interop::{Master, Server};

use super::check_same_refusal;

/// Parameters are set, changed, printed and removed in all ways, one line after another.
const PARAMETERS: [&str; 37] = [
    "rosparam set /whole 5; rosparam get /whole",
    "rosparam set whole -5; rosparam get whole",
    "rosparam set /text hello; rosparam get /text",
    "rosparam set /text \"'5'\"; rosparam get /text; rosparam get -p /text",
    "rosparam set /text ''; rosparam get /text",
    "rosparam set /text 'é: x'; rosparam get /text",
    "rosparam set /long 'words that go on and on past the end of the line of eighty columns and on and on'",
    "rosparam get /long; rosparam get -p /long",
    "rosparam set /number 0.1; rosparam get /number",
    "rosparam set /number 1.0e+16; rosparam get /number",
    "rosparam set /number .inf; rosparam get /number",
    "rosparam set /angle 'deg(90)'; rosparam get /angle",
    "rosparam set /angle '!radians pi/4'; rosparam get /angle",
    "rosparam set /truth yes; rosparam get /truth",
    "rosparam set /truth '\"yes\"'; rosparam get /truth",
    "rosparam set /list '[1, 2.5, on, text, [a, \"b c\"], {k: v, m: [1, {n: 2}]}]'; rosparam get /list",
    "rosparam get -p /list",
    "rosparam set /tree '{a: 1, b: {c: \"5\", d: [1, 2], e: off, f: [], g: \"x\\ny\"}}'; rosparam get /tree",
    "rosparam get -p /tree",
    "rosparam get /tree/b; rosparam get tree/b/c; rosparam get /tree/",
    "rosparam get -v /tree/a",
    "rosparam set /tree/b '{c: 6}'; rosparam get /tree",
    "rosparam set -v /tree '{x: {y: [a, 1.5, true]}}'; rosparam set /tree/z 'some text' -v",
    "rosparam list; rosparam list /tree; rosparam list tree/b; rosparam list /none",
    "printf 'of a file' > text; rosparam set -t text /text; rosparam set --textfile text /other; rosparam get /other",
    "printf '\\1\\377' > bytes; rosparam set -b bytes /bytes; rosparam list",
    "rosparam delete /bytes; rosparam get /",
    "printf 'a: 1\\nb: {c: no, d: \"no\"}\\n---\\n_ns: inner\\nx: deg(90)\\n' > file; rosparam load file; rosparam get /",
    "rosparam load file /below; rosparam get /below; rosparam load - / < file",
    "rosparam dump; rosparam dump out /below; cat out; rosparam dump out; cat out",
    "rosparam dump -v out /below/b; rosparam load -v file /verbose",
    "ROS_NAMESPACE=/below rosparam get b; ROS_NAMESPACE=below rosparam set new 1; rosparam get /below/new",
    "rosparam delete -v /below; rosparam list",
    "rosparam set / '{q: 1}'; rosparam get /q",
    "rosparam set /empty '{}'; rosparam get /",
    "rosparam set /none:=x 1; rosparam list",
    "rosparam delete -v /; rosparam list; rosparam get /",
];

#[test]
fn parameters_match_original_bytes_at_both_masters() {
    for server in Server::BOTH {
        let [theirs, ours] = [Master::start(server), Master::start(server)];
        for line in PARAMETERS {
            let [ours, theirs] = [ours.graph().linked(line), theirs.graph().original(line)];
            let both = format!("{server:?}: {line}: {ours:#?} {theirs:#?}");
            assert_eq!((ours.code, &ours.output), (theirs.code, &theirs.output), "{both}");
            assert_eq!(ours.error, "", "{server:?}: {line}");
        }
    }
}

#[test]
fn invalid_parameter_is_refused() {
    let master = Master::start(Server::Rosmaster);
    let refused = [
        ("rosparam get /none", "[/none] is not set"),
        ("rosparam dump out /none", "[/none] is not set"),
        ("rosparam delete /none", "[/none] is not set"),
        ("rosparam set / 5", "dictionary"),
        ("rosparam set /x null", "cannot be null"),
        ("rosparam set /x 3000000000", "3000000000"),
        ("rosparam set /x '['", "YAML"),
        ("rosparam set /x", "VALUE"),
        ("rosparam set /x 1 2", "too many arguments: 2"),
        ("rosparam set -t none /x", "none"),
        ("rosparam load none", "none"),
        ("rosparam delete", "NAME"),
        ("rosparam get -x /x", "no such option: -x"),
    ];
    check_same_refusal(master.graph(), &refused);
}
