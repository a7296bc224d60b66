//! MD5 sums and full texts of every installed ROS 1 definition, as the originals' own generators compute them.

use std::fs;

use interop::Ros1Graph;
use runnel_core::schema::{Kind, Library, ResolveError, TypeName};
use runnel_testkit::process::deadline_in;

/// The packages whose definitions must be there to compare with.
const PACKAGES: [&str; 17] = [
    "actionlib_msgs",
    "diagnostic_msgs",
    "geometry_msgs",
    "map_msgs",
    "move_base_msgs",
    "nav_msgs",
    "roscpp",
    "rosgraph_msgs",
    "sensor_msgs",
    "shape_msgs",
    "std_msgs",
    "std_srvs",
    "stereo_msgs",
    "tf2_msgs",
    "topic_tools",
    "trajectory_msgs",
    "visualization_msgs",
];

/// What the originals say of one definition.
#[derive(Debug)]
struct Original {
    kind: Kind,
    name: TypeName,
    md5: String,
    /// CRC-32 of the full text of a message.
    full_text: Option<String>,
    file: String,
}

fn originals() -> Vec<Original> {
    // Nothing is asked of a master, so there need be none.
    let mut peer = Ros1Graph::at("http://127.0.0.1:1").rospy("md5sums.py", &[]);
    let status = peer.wait_exit(deadline_in(120)).unwrap();
    assert!(status.success(), "{}", peer.output());
    let originals: Vec<_> = peer.lines().iter().map(|line| original(line)).collect();
    let installed = |package: &str| originals.iter().any(|one| one.name.package == package);
    let lacking: Vec<_> = PACKAGES.iter().filter(|package| !installed(package)).collect();
    assert!(lacking.is_empty(), "{lacking:?} are not installed: run ./test");
    originals
}

fn original(line: &str) -> Original {
    let words: Vec<_> = line.split(' ').collect();
    let [kind, name, md5, crc, file] = words[..] else { panic!("not a definition: {line}") };
    Original {
        kind: if kind == "msg" { Kind::Message } else { Kind::Service },
        name: TypeName::parse(name).unwrap(),
        md5: md5.to_owned(),
        full_text: (crc != "-").then(|| crc.to_owned()),
        file: file.to_owned(),
    }
}

/// The library with the very files that the originals read.
fn library_of(originals: &[Original]) -> Library {
    let mut library = Library::new();
    for Original { kind, name, file, .. } in originals {
        library.add_text(*kind, name.clone(), fs::read_to_string(file).unwrap(), file);
    }
    library
}

fn md5(library: &Library, kind: Kind, name: &TypeName) -> Result<String, ResolveError> {
    match kind {
        Kind::Message => library.message(name).map(|schema| schema.md5.clone()),
        _ => library.service(name).map(|schema| schema.md5),
    }
}

/// The names for which `differs` holds, with what it tells of each.
fn differences(originals: &[Original], differs: impl Fn(&Original) -> Option<String>) -> Vec<String> {
    originals.iter().filter_map(|one| differs(one).map(|how| format!("{}: {how}", one.name))).collect()
}

#[test]
fn every_installed_definition_has_the_md5_of_the_originals() {
    let originals = originals();
    let library = library_of(&originals);
    let wrong = differences(&originals, |one| match md5(&library, one.kind, &one.name) {
        Ok(md5) => (md5 != one.md5).then(|| format!("{md5}, but {} by the original", one.md5)),
        Err(error) => Some(error.to_string()),
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), originals.len(), wrong.join("\n"));
}

#[test]
fn every_installed_message_has_the_full_text_of_the_originals() {
    let originals = originals();
    let library = library_of(&originals);
    let wrong = differences(&originals, |one| {
        let wanted = one.full_text.as_ref()?;
        let text = &library.message(&one.name).unwrap().full_text;
        (format!("{:08x}", crc32fast::hash(text.as_bytes())) != *wanted).then(|| format!("\n{text:?}"))
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), originals.len(), wrong.join("\n"));
}

#[test]
fn every_definition_that_comes_with_runnel_has_the_md5_of_the_original() {
    let library = runnel_msgs::library();
    let mut compared = 0;
    for one in originals() {
        let comes_along = library.names(one.kind).any(|name| *name == one.name);
        if comes_along {
            assert_eq!(md5(&library, one.kind, &one.name).unwrap(), one.md5, "{}", one.name);
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} definitions were compared");
}
