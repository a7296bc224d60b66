//! Tests of looking types up, against the definitions of the standard packages.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn standard_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runnel-gen/interfaces")
}

fn standard() -> Library {
    let mut library = Library::new();
    assert!(library.add_folder(&standard_folder()).unwrap() > 150);
    library
}

fn type_name(text: &str) -> TypeName {
    TypeName::parse(text).unwrap()
}

/// A library of messages in package `p`.
fn library(messages: &[(&str, &str)]) -> Library {
    let mut library = Library::new();
    for (name, text) in messages {
        library.add_text(
            Kind::Message,
            TypeName::new("p", *name),
            (*text).to_owned(),
            &format!("{name}.msg"),
        );
    }
    library
}

#[test]
fn md5_sums_equal_those_of_ros_1() {
    let library = standard();
    for (name, md5) in [
        ("std_msgs/Empty", "d41d8cd98f00b204e9800998ecf8427e"),
        ("std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1"),
        ("std_msgs/Header", "2176decaecbce78abc3b96ef049fabed"),
        ("geometry_msgs/PoseStamped", "d3812c3cbc69362b77dc0b19b345f8f5"),
        ("sensor_msgs/Image", "060021388200f6f0f447d0fcd9c64743"),
        ("rosgraph_msgs/Log", "acffd30cd6b6de30f120938c17c593fb"),
        ("tf2_msgs/TFMessage", "94810edda583a504dfda3829e70d7eec"),
        ("visualization_msgs/Marker", "4048c9de2a16f4ae8e0538085ebf1b97"),
        ("move_base_msgs/MoveBaseAction", "70b6aca7c7f7746d8d1609ad94c80bb8"),
        ("actionlib/TestActionResult", "3d669e3a63aa986c667ea7b0f46ce85e"),
    ] {
        assert_eq!(library.message(&type_name(name)).unwrap().md5, md5, "{name}");
    }
    for (name, md5) in [
        ("std_srvs/Empty", "d41d8cd98f00b204e9800998ecf8427e"),
        ("std_srvs/SetBool", "09fb03525b03e7ea1fd3992bafd87e16"),
        ("roscpp/GetLoggers", "32e97e85527d4678a8f9279894bb64b0"),
        ("nav_msgs/GetMap", "6cdd0a18e0aff5b0a3ca2326a89b54ff"),
    ] {
        assert_eq!(library.service(&type_name(name)).unwrap().md5, md5, "{name}");
    }
}

#[test]
fn definition_with_ros_2_syntax_hashes_as_its_ros_1_form() {
    let ros1 = library(&[("A", "uint8 X=1\nstring s\nB[] b\ntime t"), ("B", "int8 x")]);
    let ros2 = library(&[
        ("A", "string<=5 s \"a\"\nuint8 X=1\np/msg/B[<=2] b\nbuiltin_interfaces/Time t"),
        ("B", "int8 x"),
    ]);
    let [ros1, ros2] = [ros1, ros2].map(|library| library.message(&type_name("p/A")).unwrap());
    assert_eq!(ros1.md5, ros2.md5);
    let rule = "=".repeat(80);
    assert_eq!(ros2.full_text, format!("uint8 X=1\nstring s\np/B[] b\ntime t\n\n{rule}\nMSG: p/B\nint8 x"));
}

#[test]
fn every_full_text_is_read_back() {
    let library = standard();
    let names =
        |schema: &Schema| schema.def.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    let said = |schema: &Schema| (schema.md5.clone(), schema.full_text.clone(), names(schema));
    for name in library.names(Kind::Message) {
        for generation in Generation::ALL {
            let schema = library.message_in(generation, name).unwrap();
            let again = Schema::from_full_text_in(generation, name, &schema.full_text).unwrap();
            assert_eq!(said(&schema), said(&again), "{name}");
        }
    }
}

#[test]
fn type_has_form_in_each_generation() {
    let library = standard();
    let fields = |generation, name| {
        let schema = library.message_in(generation, &type_name(name)).unwrap();
        schema.def.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>().join(" ")
    };
    let [ros1, ros2] = Generation::ALL;
    assert_eq!(fields(ros1, "std_msgs/Header"), "seq stamp frame_id");
    assert_eq!(fields(ros2, "std_msgs/msg/Header"), "stamp frame_id");
    assert_eq!(fields(ros2, "stereo_msgs/DisparityImage").split(' ').nth(3), Some("t"));
    assert!(fields(ros2, "visualization_msgs/Marker").contains("texture_resource"));
    assert!(!fields(ros1, "visualization_msgs/Marker").contains("texture_resource"));
    let is_in = |name: &str| Generation::ALL.map(|one| library.is_in(one, Kind::Message, &type_name(name)));
    assert_eq!(is_in("std_msgs/String"), [true, true]);
    assert_eq!(is_in("visualization_msgs/Marker"), [true, true]);
    assert_eq!(is_in("rcl_interfaces/msg/Log"), [false, true]);
    assert_eq!(is_in("rosgraph_msgs/Log"), [true, false]);
    assert_eq!(is_in("actionlib/TestGoal"), [true, false]);
    assert_eq!(is_in("tf2_msgs/LookupTransformGoal"), [true, true]);
    assert_eq!(is_in("tf2_msgs/LookupTransformActionGoal"), [true, false]);
    assert_eq!(is_in("tf2_msgs/LookupTransformFeedbackMessage"), [false, true]);
    assert_eq!(is_in("std_msgs/None"), [false, false]);
}

#[test]
fn ros_2_form_is_written_as_ros_2_writes_it() {
    let library =
        library(&[("A", "time[2] At\nHeader h\nint8 a\nint8 A\nstring NAME=x y\nstring QUOTED=\"z\"")]);
    let mut library = library;
    library.add_text(Kind::Message, type_name("std_msgs/Header"), "uint32 seq\ntime stamp", "Header.msg");
    let schema = library.message_in(Generation::Ros2, &type_name("p/A")).unwrap();
    assert_eq!(
        schema.full_text,
        format!(
            "string NAME=\"x y\"\nstring QUOTED=\"z\"\nbuiltin_interfaces/Time[2] at\nstd_msgs/Header h\nint8 a\nint8 A\n\n\
             {}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\n",
            "=".repeat(80)
        )
    );
    assert_eq!(schema.rihs01().map(|hash| hash.len()), Some(7 + 64));
    assert_eq!(library.message(&type_name("p/A")).unwrap().rihs01(), None);
}

#[test]
fn annotations_are_ignored() {
    let library = library(&[
        ("A", "@key\n@key int32 x\n  @optional @key string<=3 y \"b\" # z\n"),
        ("B", "@key\nint8 x"),
    ]);
    let [ros1, ros2] =
        Generation::ALL.map(|generation| library.message_in(generation, &type_name("p/A")).unwrap());
    assert_eq!((ros1.full_text.as_str(), ros1.def.fields.len()), ("int32 x\nstring y\n", 2));
    assert_eq!(ros2.full_text, "@key\n@key int32 x\n  @optional @key string<=3 y \"b\" # z\n");
    assert_eq!(library.message(&type_name("p/B")).unwrap().full_text, "int8 x\n");
}

#[test]
fn folder_may_limit_definition_to_one_generation() {
    let folder = folder(&[
        ("p/msg/Both.msg", "int8 x"),
        ("ros2/p/msg/Both.msg", "int8 x\nint8 y"),
        ("ros2/p/msg/New.msg", ""),
        ("ros1/p/srv/Old.srv", "---"),
        ("group/ros2/q/msg/Both.msg", ""),
    ]);
    let mut library = Library::new();
    library.add_text(Kind::Message, type_name("p/First"), "int8 x", "First.msg");
    assert_eq!(library.add_folder(folder.path()).unwrap(), 5);
    let len = |generation, name| library.message_in(generation, &type_name(name)).unwrap().def.fields.len();
    let [ros1, ros2] = Generation::ALL;
    assert_eq!((len(ros1, "p/Both"), len(ros2, "p/Both"), len(ros1, "p/New")), (1, 2, 0));
    let is_in = |kind, name: &str| Generation::ALL.map(|one| library.is_in(one, kind, &type_name(name)));
    assert_eq!(is_in(Kind::Message, "p/New"), [false, true]);
    assert_eq!(is_in(Kind::Service, "p/Old"), [true, false]);
    assert_eq!(is_in(Kind::Message, "p/OldRequest"), [true, false]);
    assert_eq!(is_in(Kind::Message, "q/Both"), [true, true]);
}

#[test]
fn first_definition_counts_in_both_generations() {
    let folder = folder(&[("p/msg/A.msg", "int8 x\nint8 y"), ("ros2/p/msg/A.msg", "")]);
    let mut library = library(&[("A", "int8 own")]);
    library.add_folder(folder.path()).unwrap();
    for generation in Generation::ALL {
        assert_eq!(library.message_in(generation, &type_name("p/A")).unwrap().def.fields[0].name, "own");
    }
}

#[test]
fn type_hashes_equal_those_of_ros_2() {
    let library = standard();
    let hash = |name| library.message_in(Generation::Ros2, &type_name(name)).unwrap().rihs01().unwrap();
    assert_eq!(
        hash("std_msgs/Header"),
        "RIHS01_f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01"
    );
    assert_eq!(
        hash("builtin_interfaces/Time"),
        "RIHS01_b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197"
    );
}

#[test]
fn repeated_part_is_written_once_and_shared() {
    let library = library(&[("A", "B x\nC y"), ("B", "C z"), ("C", "int8 i")]);
    let schema = library.message(&type_name("p/A")).unwrap();
    let rule = "=".repeat(80);
    let text = format!("B x\nC y\n{rule}\nMSG: p/B\nC z\n{rule}\nMSG: p/C\nint8 i");
    assert_eq!(schema.full_text, text);
    let of_b = schema.parts[0].as_ref().unwrap().parts[0].as_ref().unwrap();
    assert!(Arc::ptr_eq(of_b, schema.parts[1].as_ref().unwrap()));
    assert!(Arc::ptr_eq(&schema, &library.message(&type_name("p/msg/A")).unwrap()));
}

#[test]
fn action_adds_seven_messages() {
    let library = standard();
    let action = library.action(&type_name("nav_msgs/action/GetMap")).unwrap();
    assert_eq!(action.action.md5, "e611ad23fbf237c031b7536416dc7cd7");
    assert_eq!(action.goal.def.fields, []);
    let names: Vec<String> = library.names(Kind::Message).map(TypeName::to_string).collect();
    assert!(names.contains(&"nav_msgs/GetMapActionFeedback".to_owned()));
    assert!(!names.contains(&"nav_msgs/GetMapRequest".to_owned()));
    assert!(library.message(&type_name("nav_msgs/GetMapRequest")).is_ok());
}

#[test]
fn ros_2_derives_two_services_and_a_message_from_action() {
    let (library, name) = (standard(), type_name("tf2_msgs/LookupTransform"));
    let [send_goal, get_result] = library.action_services_in(Generation::Ros2, &name).unwrap();
    let names =
        |schema: &Schema| schema.def.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&send_goal.request), ["goal_id", "goal"]);
    assert_eq!(send_goal.request.def.ros2_name, "tf2_msgs/action/LookupTransform_SendGoal_Request");
    assert_eq!(names(&send_goal.response), ["accepted", "stamp"]);
    assert_eq!(names(&get_result.request), ["goal_id"]);
    assert_eq!(names(&get_result.response), ["status", "result"]);
    assert_eq!(get_result.ros2_name, "tf2_msgs/action/LookupTransform_GetResult");
    let feedback = library.message_in(Generation::Ros2, &name.with_suffix("FeedbackMessage")).unwrap();
    assert_eq!(names(&feedback), ["goal_id", "feedback"]);
    assert_eq!(feedback.def.dds_name(), "tf2_msgs::action::dds_::LookupTransform_FeedbackMessage_");
}

#[test]
fn derived_messages_of_action_have_hashes_without_library() {
    let (library, name) = (standard(), type_name("tf2_msgs/LookupTransform"));
    let ActionSchema { goal, result, feedback, .. } = library.action_in(Generation::Ros2, &name).unwrap();
    let [send_goal, get_result] = library.action_services_in(Generation::Ros2, &name).unwrap();
    let feedback_message =
        library.message_in(Generation::Ros2, &name.with_suffix("FeedbackMessage")).unwrap();
    let expected = [
        &send_goal.request,
        &send_goal.response,
        &get_result.request,
        &get_result.response,
        &feedback_message,
    ];
    let expected = expected.map(|schema| (schema.def.dds_name(), schema.rihs01().unwrap()));
    assert_eq!(ros2_action_messages(&name, [&goal, &result, &feedback]), expected);
}

#[test]
fn own_file_takes_precedence_over_message_of_action() {
    let mut library = standard();
    let name = type_name("nav_msgs/GetMapGoal");
    library.add_text(Kind::Message, name.clone(), "# own", "own");
    assert_eq!(library.message(&name).unwrap().full_text, "# own");
}

#[test]
fn first_definition_takes_precedence() {
    let mut library = library(&[("A", "int8 first"), ("A", "int8 second")]);
    library.add_text(Kind::Message, type_name("p/A"), "int8 third", "third");
    assert_eq!(library.message(&type_name("p/A")).unwrap().def.fields[0].name, "first");
}

#[test]
fn missing_type_is_named_with_the_type_that_uses_it() {
    let mut library = library(&[("A", "int8 a\n  q/B b"), ("S", "?"), ("T", "A a")]);
    library.add_text(Kind::Service, type_name("p/V"), "int8 a\n---\nfloat65[] b", "V.srv");
    let error = |name: &str| library.message(&type_name(name)).unwrap_err().to_string();
    assert_eq!(error("p/Z"), "no p/Z.msg is known");
    let nowhere = "A.msg:2:3: expected a type, but B is not built in and no q/B.msg is known";
    assert_eq!([error("p/A"), error("p/T")], [nowhere; 2]);
    let nowhere = "V.srv:3:1: expected a type, but float65 is not built in and no p/float65.msg is known";
    assert_eq!(library.service(&type_name("p/V")).unwrap_err().to_string(), nowhere);
    assert_eq!(error("p/S"), "S.msg:1:1: expected a type, found \"?\"");
    let error = library.service(&type_name("p/A")).unwrap_err();
    assert_eq!(error.to_string(), "no p/A.srv is known");
}

#[test]
fn message_cannot_contain_itself() {
    let library = library(&[("A", "B b"), ("B", "C[] c"), ("C", "A a")]);
    let error = library.message(&type_name("p/A")).unwrap_err();
    assert_eq!(error.to_string(), "message contains itself: p/A > p/B > p/C > p/A");
    let itself = Schema::from_full_text(&type_name("p/A"), "p/A a").unwrap_err();
    assert!(matches!(itself, ResolveError::Cycle(_)));
}

/// A full text of `layers` layers of `width` messages, each of which names all of the next layer.
fn layered(layers: usize, width: usize) -> String {
    let fields = |layer: usize| -> String { (0..width).map(|i| format!("L{layer}W{i} f{i}\n")).collect() };
    let mut text = fields(0);
    for layer in 0..layers {
        let body = if layer + 1 < layers { fields(layer + 1) } else { "int8 x".to_owned() };
        for i in 0..width {
            text.push_str(&format!("\n{}\nMSG: p/L{layer}W{i}\n{body}", "=".repeat(80)));
        }
    }
    text
}

#[test]
fn nesting_is_limited() {
    let name = type_name("p/Root");
    assert!(Schema::from_full_text(&name, &layered(63, 1)).is_ok());
    let error = Schema::from_full_text(&name, &layered(64, 1)).unwrap_err();
    assert_eq!(error, ResolveError::TooDeep(type_name("p/L63W0")));
    // A part that was visited before has the same depth.
    let error = Schema::from_full_text(&name, &format!("L30W0 part\n{}", layered(64, 1))).unwrap_err();
    assert_eq!(error, ResolveError::TooDeep(type_name("p/L30W0")));
    assert!(Schema::from_full_text(&name, &format!("L30W0 part\n{}", layered(63, 1))).is_ok());
}

#[test]
fn shared_part_is_resolved_once() {
    let schema = Schema::from_full_text(&type_name("p/Root"), &layered(60, 3)).unwrap();
    assert_eq!(schema.full_text.matches("MSG: ").count(), 180);
}

#[test]
fn text_of_peer_takes_bounded_work() {
    let name = type_name("p/Root");
    let text = layered(60, 30);
    assert!(text.len() < parse::MAX_FILE_LEN);
    assert!(matches!(Schema::from_full_text(&name, &text), Err(ResolveError::TooLarge(_))));
}

#[test]
fn unnamed_section_is_refused() {
    let text = format!("int8 x\n{}\nnothing here\n", "=".repeat(80));
    let error = Schema::from_full_text(&type_name("p/A"), &text).unwrap_err();
    assert_eq!(error.to_string(), "\"nothing here\" is not the name of a type");
}

/// Writes files below a new folder.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn packages_are_found_below_folder_unless_marked() {
    let folder = folder(&[
        ("src/group/a/msg/A.msg", "int8 x"),
        ("src/group/a/srv/S.srv", "---"),
        ("src/group/a/msg/notes.txt", ""),
        ("src/group/a/msg/9.msg", ""),
        ("src/group/a/package.xml", ""),
        ("src/group/a/inner/b/msg/B.msg", ""),
        ("src/off/COLCON_IGNORE", ""),
        ("src/off/c/msg/C.msg", ""),
        ("src/.hidden/d/msg/D.msg", ""),
        ("e/action/E.action", "---\n---"),
        ("1/2/3/4/5/msg/TooDeep.msg", ""),
    ]);
    let files = definition_files(folder.path()).unwrap();
    let found: BTreeMap<String, Kind> =
        files.into_iter().map(|file| (file.name.to_string(), file.kind)).collect();
    let expected = [("a/A", Kind::Message), ("a/S", Kind::Service), ("e/E", Kind::Action)];
    assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind)).into());
}

#[test]
fn folder_may_be_a_package() {
    let folder = folder(&[("a/msg/A.msg", "int8 x")]);
    let mut library = Library::new();
    assert_eq!(library.add_folder(&folder.path().join("a")).unwrap(), 1);
    assert_eq!(library.message(&type_name("a/A")).unwrap().def.fields.len(), 1);
    assert!(library.add_folder(&folder.path().join("none")).is_err());
}

#[test]
fn environment_folders_are_searched_for_missing_types() {
    let folder = folder(&[
        ("ros2/share/a/msg/A.msg", "b/B b"),
        ("ros1/b/msg/B.msg", "int8 x"),
        ("ros1/p/msg/A.msg", ""),
    ]);
    let folders = ["ros2", "ros1", "none"].map(|name| folder.path().join(name));
    let library = library(&[("A", "int8 own")]).with_environment_folders(folders);
    assert_eq!(library.message(&type_name("a/A")).unwrap().parts.len(), 1);
    assert_eq!(library.message(&type_name("p/A")).unwrap().def.fields.len(), 1);
    let names: Vec<String> = library.environment_names(Kind::Message).map(TypeName::to_string).collect();
    assert_eq!(names, ["a/A", "b/B", "p/A"]);
    assert_eq!(library.names(Kind::Message).count(), 1);
}

#[test]
fn file_in_other_text_encoding_is_read() {
    let folder = folder(&[]);
    fs::create_dir_all(folder.path().join("a/msg")).unwrap();
    fs::write(folder.path().join("a/msg/A.msg"), b"int8 x # \xb5m").unwrap();
    let mut library = Library::new();
    library.add_folder(folder.path()).unwrap();
    assert_eq!(library.message(&type_name("a/A")).unwrap().def.fields[0].name, "x");
}

#[test]
fn library_is_shared_between_threads() {
    let library = standard();
    let name = type_name("visualization_msgs/MarkerArray");
    let look_up = || library.message(&name).unwrap();
    let schemas = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(look_up)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(schemas.iter().all(|schema| Arc::ptr_eq(schema, &schemas[0])));
}

proptest! {
    #[test]
    fn full_text_never_panics(
        parts in prop::collection::vec("(MSG: (p/)?[A-C]\n|={80}\n|([A-C]|int8)(\\[\\])? [a-c]\n|[ \nü#=]){0,6}", 0..8)
    ) {
        let _ = Schema::from_full_text(&type_name("p/A"), &parts.concat());
    }
}

#[test]
fn fixed_len_counts_nested_messages_and_fixed_arrays() {
    let library = library(&[
        ("Inner", "bool on\ntime at\n"),
        ("Outer", "uint8[3] small\nInner[2] inner\nfloat64 last\nint32 A=1\n"),
        ("Text", "Inner inner\nstring text\n"),
        ("Empty", ""),
    ]);
    let len = |name: &str| library.message(&TypeName::new("p", name)).unwrap().ros1_fixed_len();
    assert_eq!(["Inner", "Outer", "Text", "Empty"].map(len), [Some(9), Some(29), None, Some(0)]);
}
