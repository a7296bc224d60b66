//! Builds and runs a user's crate, and checks the errors for wrong definitions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CRATE_FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/user_crate");

/// A copy of the user's crate in the target folder, with this workspace's locked versions.
fn copy_of_user_crate(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    copy(Path::new(CRATE_FOLDER), &folder);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    // The copies share build results, in which only the package name distinguishes them.
    let manifest = manifest.replace("user_crate", name).replace("CRATES", crates.to_str().unwrap());
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(crates.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs cargo; both tests share the build of the dependencies.
fn cargo(folder: &Path, arguments: &[&str]) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("user_crate_target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).arg("--offline").current_dir(folder).env("CARGO_TARGET_DIR", target);
    cargo.output().unwrap()
}

#[test]
fn user_crate_builds_without_warnings_and_runs() {
    let folder = copy_of_user_crate("user_crate");
    let output = cargo(&folder, &["run"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Users find the modules of packages at the root of the crate.
#[test]
fn compiler_names_the_missing_feature_of_a_package() {
    let folder = copy_of_user_crate("featureless_user_crate");
    fs::write(folder.join("src/main.rs"), "use runnel::sensor_msgs::msg::Imu;\nfn main() {}\n").unwrap();
    let output = cargo(&folder, &["build"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("the item is gated behind the `sensor_msgs` feature"), "{text}");
}

#[test]
fn wrong_definition_fails_build_with_position() {
    let folder = copy_of_user_crate("wrong_user_crate");
    fs::write(folder.join("interfaces/my_msgs/msg/Inner.msg"), "string text\nuint8[ data\n").unwrap();
    fs::write(folder.join("interfaces/other_msgs/msg/Plain.msg"), "nowhere_msgs/Foo a\n").unwrap();
    let output = cargo(&folder, &["build"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("Inner.msg:2:7: expected a size of at most 16777216, found "), "{text}");
    let nowhere =
        "Plain.msg:1:1: expected a type, but Foo is not built in and no nowhere_msgs/Foo.msg is known";
    assert!(text.contains(nowhere), "{text}");
    let errors =
        text.lines().filter(|line| line.starts_with("error: ") && line.contains("Inner.msg")).count();
    assert_eq!(errors, 1, "{text}");
}

#[test]
fn conflicting_definitions_fail_build() {
    let folder = copy_of_user_crate("differing_user_crate");
    fs::write(folder.join("interfaces/ros2/my_msgs/msg/Both.msg"), "int16 speed\ntime stamp\n").unwrap();
    let output = cargo(&folder, &["build"]);
    let text = String::from_utf8_lossy(&output.stderr);
    let error = "my_msgs/Both: stamp has another position among the fields in ROS 2 than in ROS 1";
    assert!(!output.status.success() && text.contains(error), "{text}");
}
