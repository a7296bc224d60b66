//! `rosmsg` and `rossrv`.

use interop::Ros1Graph;

use super::{check_same_output, check_same_refusal};

#[test]
fn types_match_original_bytes() {
    // No master is needed.
    let graph = Ros1Graph::at("http://127.0.0.1:9");
    let lines = [
        "rosmsg show std_msgs/String",
        "rosmsg info geometry_msgs/PoseStamped",
        "rosmsg show PoseStamped",
        "rosmsg show std_msgs/String.msg",
        "rosmsg md5 std_msgs/String",
        "rosmsg md5 PoseStamped",
        "rosmsg package std_msgs",
        "rosmsg package -s sensor_msgs",
        "echo std_msgs/Int8 | rosmsg show",
        "rossrv show std_srvs/SetBool",
        "rossrv show SetBool",
        "rossrv md5 std_srvs/SetBool",
        "rossrv package std_srvs",
        "rossrv packages",
        "rossrv list",
        "rosmsg md5 std_msgs/NoSuch",
        "rosmsg md5 NoSuch",
    ];
    check_same_output(&graph, &lines);
    let refused = [
        ("rosmsg show std_msgs/NoSuch", "std_msgs/NoSuch"),
        ("rosmsg show NoSuch", "'NoSuch'"),
        ("rosmsg show std_msgs.String", "std_msgs.String"),
        ("rosmsg package no_such", "no_such"),
        ("rossrv show std_msgs/String", "std_msgs/String"),
        ("rosmsg show a/B c", "c"),
    ];
    check_same_refusal(&graph, &refused);
    let [ours, theirs] = [graph.linked("rosmsg list"), graph.original("rosmsg list")];
    let missing = theirs.output.lines().find(|name| !ours.output.lines().any(|ours| ours == *name));
    assert_eq!(missing, None);
}
