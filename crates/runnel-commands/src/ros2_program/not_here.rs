//! Groups of the original that Runnel does not have, and what to type instead.

use super::Failure;

/// Checks that the words do not begin with one of these groups.
///
/// # Errors
/// If they do; the error says what to type instead.
pub fn check(words: &[String]) -> Result<(), Failure> {
    let Some(group) = words.iter().find(|word| !word.starts_with('-')) else { return Ok(()) };
    let why = match group.as_str() {
        #[cfg(not(feature = "bag"))]
        "bag" => "this program was built without bags. Try: runnel built with the feature bag",
        "launch" => "Runnel has no launch files. Try: a script that starts each node",
        "pkg" => "Runnel knows packages only by their interfaces. Try: ros2 interface packages",
        "component" => "Runnel has no component containers. Try: a program that creates several nodes",
        "multicast" => "Runnel tests multicast with the doctor. Try: ros2 doctor",
        "security" => "Runnel has no commands for keystores. Try: the original ros2 security",
        "test" => "Runnel has no launch tests. Try: the original ros2 test",
        "plugin" | "extensions" | "extension_points" => "Runnel has no plug-ins. Try: ros2 --help",
        _ => return Ok(()),
    };
    Err(Failure::failed(format!("ros2 {group}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_group_leads_to_another_command() {
        let refused = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            check(&words).err().map(|failure| failure.to_string())
        };
        for line in ["launch a b.py", "pkg list", "multicast send"] {
            let why = refused(line).expect("it is not here");
            assert!(
                why.starts_with(&format!("ros2 {}: ", line.split(' ').next().unwrap_or_default())),
                "{why}"
            );
            assert!(why.contains("ry: "), "{why}");
        }
        assert_eq!(refused("topic echo bag"), None);
    }
}
