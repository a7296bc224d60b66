//! Parameter files, as given by `--params-file`.
//!
//! They are YAML in the simple form of the ROS 2 documentation: nodes by name or pattern, `ros__parameters`, and below
//! it plain values, lists and maps by indentation or in braces on one line. Nodes read them when they start, so this reader spares every node a
//! YAML library. Anything else, such as block scalars and anchors, is an error with its line.

mod lines;
mod value;

use std::fs::File;
use std::io::{self, Read};

use runnel_core::names::{Generation, validate_node_name};

use crate::error::Error;
pub(crate) use value::{FileValue, argument_value};

/// The argument that names a file.
const FLAG: &str = "--params-file";

/// Limit of a file's length in bytes.
const LONGEST: u64 = 1 << 20;

/// The key above a node's parameters.
const PARAMETERS: &str = "ros__parameters";

/// The parameters of the files, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileParams(Vec<FileParam>);

/// A parameter of the nodes whose names match a pattern.
#[derive(Clone, Debug, PartialEq)]
struct FileParam {
    /// Parts of a node's full name; `*` matches any one part, `**` any number of them.
    node: Vec<String>,
    /// Parts joined by points.
    name: String,
    value: FileValue,
    /// The file, as it was named.
    file: String,
    line: usize,
}

impl FileParams {
    /// Reads files.
    ///
    /// # Errors
    /// If one cannot be read, or does not have the simple form.
    pub(crate) fn read(files: &[String]) -> Result<Self, Error> {
        let mut all = Self::default();
        for file in files {
            let params = text_of(file).and_then(|text| parse(&text));
            let refused = |why| Error::Environment { variable: FLAG, why: format!("{file}: {why}") };
            let params = params.map_err(refused)?;
            all.0.extend(params.into_iter().map(|param| FileParam { file: file.clone(), ..param }));
        }
        Ok(all)
    }

    /// Reads the text of one file.
    ///
    /// # Errors
    /// The line that does not have the simple form, and why.
    pub(crate) fn of_text(text: &str) -> Result<Self, String> {
        parse(text).map(Self)
    }

    /// Names and values for the node of this full name, in the order of the text; without `wildcards` only those of
    /// sections that name the node.
    pub(crate) fn of_node_in_text(
        &self,
        node: &str,
        wildcards: bool,
    ) -> impl Iterator<Item = (&str, &FileValue)> {
        let is_name = |param: &&FileParam| param.node.iter().all(|part| !part.contains('*'));
        let of_node = self.of_node(node).filter(move |param| wildcards || is_name(param));
        of_node.map(|param| (param.name.as_str(), &param.value))
    }

    /// Names and values for the node of this full name, each with its file and line: `robot.yaml line 3`. Of two with one
    /// name the last is used.
    pub(crate) fn with_lines(&self, node: &str) -> impl Iterator<Item = (&str, &FileValue, String)> {
        let place = |param: &FileParam| format!("{} line {}", param.file, param.line);
        self.of_node(node).map(move |param| (param.name.as_str(), &param.value, place(param)))
    }

    /// The file whose value of a parameter the node of this full name uses.
    pub(crate) fn file_of(&self, node: &str, name: &str) -> Option<&str> {
        self.of_node(node).filter(|param| param.name == name).last().map(|param| param.file.as_str())
    }

    fn of_node(&self, node: &str) -> impl Iterator<Item = &FileParam> {
        let parts: Vec<String> = parts(node).map(str::to_owned).collect();
        self.0.iter().filter(move |param| fits(&param.node, &parts))
    }
}

fn text_of(file: &str) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        Ok(read) if read as u64 > LONGEST => Err(format!("longer than {LONGEST} bytes")),
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err("it is not UTF-8 text".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn parse(text: &str) -> Result<Vec<FileParam>, String> {
    let at = |(line, why): (usize, String)| format!("line {line}: {why}");
    lines::values(text).map_err(at)?.into_iter().map(|entry| param(entry).map_err(at)).collect()
}

/// The parameter of a value, or its line and what is wrong.
fn param(lines::Entry { line, path, value }: lines::Entry) -> Result<FileParam, (usize, String)> {
    let above = path.iter().position(|key| key == PARAMETERS);
    let Some((node, name)) = above.map(|above| (&path[..above], &path[above + 1..])) else {
        return Err((line, format!("{} is not below the name of a node and {PARAMETERS}", path.join("."))));
    };
    if node.is_empty() || name.is_empty() {
        return Err((line, format!("{PARAMETERS} stands below the name of a node, and parameters below it")));
    }
    let node: Vec<String> = node.iter().flat_map(|name| parts(name)).map(str::to_owned).collect();
    check_node(&node).map_err(|why| (line, why))?;
    Ok(FileParam { node, name: name.join("."), value, file: String::new(), line })
}

/// Each part is a name, `*` or `**`. For rcl the first part may be `/*` or `/**` too, which is the same.
fn check_node(parts: &[String]) -> Result<(), String> {
    let is_pattern = |part: &str| ["*", "**"].contains(&part);
    let mut names = parts.iter().filter(|part| !is_pattern(part));
    names
        .try_for_each(|name| validate_node_name(name, Generation::Ros2))
        .map_err(|error| format!("{error}. Try: /talker, talker, /robot/talker, /robot/* or /**"))
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split('/').filter(|part| !part.is_empty())
}

fn fits(pattern: &[String], name: &[String]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            (0..=name.len()).any(|passed| fits(rest, &name[passed..]))
        }
        (Some((first, rest)), Some((part, after))) => (first == "*" || first == part) && fits(rest, after),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, node: &str) -> String {
        let params = FileParams(parse(text).expect("a good file"));
        params.with_lines(node).map(|(name, value, _)| format!("{name}={value:?} ")).collect()
    }

    #[test]
    fn maps_may_stand_in_braces() {
        let text = "/a: {ros__parameters: {b: {c: [1, 2], 'd, e': 'x}'}, f: y, g: {}}}\n";
        let expected = "b.c=List([Plain(\"1\"), Plain(\"2\")]) b.d, e=Text(\"x}\") f=Plain(\"y\") ";
        assert_eq!(of(text, "/a"), expected);
    }

    const FILE: &str = "\
# for all
/**:
  ros__parameters:
    rate: 5
talker:
  ros__parameters:
    name: \"5\"      # a text
    limits: {}
    limits.low: 1
    limit:
      high: 2.5
/robot:
  '*':
    ros__parameters: { }
  arm:
    ros__parameters:
      joints: [a, # continued
       'b, c]',
        3]
      gains:
      - 1
      - -2
";

    #[test]
    fn parameters_are_found_by_name_and_pattern() {
        assert_eq!(of(FILE, "/other"), "rate=Plain(\"5\") ");
        assert_eq!(
            of(FILE, "/talker"),
            "rate=Plain(\"5\") name=Text(\"5\") limits.low=Plain(\"1\") limit.high=Plain(\"2.5\") "
        );
        let lists = "joints=List([Plain(\"a\"), Text(\"b, c]\"), Plain(\"3\")]) gains=List([Plain(\"1\"), Plain(\"-2\")]) ";
        assert_eq!(of(FILE, "/robot/arm"), format!("rate=Plain(\"5\") {lists}"));
        assert_eq!(of(FILE, "/x/talker"), "rate=Plain(\"5\") ");
    }

    #[test]
    fn patterns_stand_for_parts_of_names() {
        for (pattern, name, expected) in [
            ("/**", "/a", true),
            ("/**", "/a/b/c", true),
            ("/*", "/a", true),
            ("/*", "/a/b", false),
            ("/**/b", "/b", true),
            ("/**/b", "/x/y/b", true),
            ("/a/*/c", "/a/b/c", true),
            ("a", "/a", true),
            ("a", "/a/b", false),
        ] {
            let split = |name: &str| parts(name).map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(fits(&split(pattern), &split(name)), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("rate: 5", "line 1: rate is not below the name of a node and ros__parameters"),
            (
                "ros__parameters:\n  a: 1",
                "line 2: ros__parameters stands below the name of a node, and parameters below it",
            ),
            (
                "a:\n  ros__parameters:\n    b: |\n      c",
                "line 3: b: | is not supported. Try: plain values, lists and maps by indentation",
            ),
            ("a:\n\tb: 1", "line 2: a tab where spaces should indent"),
            ("a: {ros__parameters: {b: 1}", "line 1: a: ros__parameters: {b: 1 does not end with }"),
            ("a: {ros__parameters: {b: }}", "line 1: a: ros__parameters: b: has no value"),
            (
                "a: {ros__parameters: {b: {c: &x}}}",
                "line 1: a: ros__parameters: b: c: & is not supported. Try: plain values, lists and maps by indentation",
            ),
            ("a:\n  b", "line 2: b should have the form KEY: VALUE"),
            ("a:\n  ros__parameters:\n    b: [1, 2", "line 3: b: [1, 2 does not end with ]"),
            ("a:\n  ros__parameters:\n    b:\n    c: 1", "line 3: b has no value"),
            ("a:\n  ros__parameters:", "line 2: ros__parameters has no value"),
            (
                "a-b:\n  ros__parameters:\n    b: 1",
                "line 3: node name \"a-b\": may not contain '-'. Valid are letters, digits and '_'; no digit first. Try: /talker, talker, /robot/talker, /robot/* or /**",
            ),
            ("a:\n  ros__parameters:\n    b:\n    - 'c", "line 4: b: 'c does not end with '"),
            ("- a", "line 1: an item of a list that has no name"),
            (
                "a:\n  ros__parameters:\n    b: 1\n      c: 2",
                "line 4: c is indented by 6 spaces, and the keys before it in its map by 4",
            ),
            (
                "a:\n  ros__parameters:\n      b: 1\n    c: 2",
                "line 4: c is indented by 4 spaces, and the keys before it in its map by 6",
            ),
            ("a:\n  b: 1\n", "line 2: a.b is not below the name of a node and ros__parameters"),
            (
                "a:\n  ros__parameters:\n    b: &x [1]\n    c: *x",
                "line 3: b: & is not supported. Try: plain values, lists and maps by indentation",
            ),
            (
                "a:\n  ros__parameters:\n    c: *x",
                "line 3: c: * is not supported. Try: plain values, lists and maps by indentation",
            ),
            (
                "a:\n  ros__parameters:\n    b: [[1], [2]]",
                "line 3: b: [ is not supported. Try: plain values, lists and maps by indentation",
            ),
            ("a:\n  ros__parameters:\n \t  b: 1", "line 3: a tab where spaces should indent"),
        ] {
            assert_eq!(parse(text).expect_err(text), expected);
        }
        for (text, expected) in [("[1, 2", "[1, 2 does not end with ]"), ("{}", "a map is no value")] {
            assert_eq!(argument_value(text).expect_err(text), expected);
        }
        assert_eq!(argument_value(" 5 "), Ok(FileValue::Plain("5".into())));
        let deep = format!("a: {{ros__parameters: {}1{}", "{b: ".repeat(10_000), "}".repeat(10_001));
        let why = parse(&deep).expect_err("too deep");
        assert!(why.ends_with("more than 32 maps within each other"), "{why}");
        let path = std::env::temp_dir().join(format!("runnel-latin1-{}.yaml", std::process::id()));
        let path = path.display().to_string();
        std::fs::write(&path, b"a: {ros__parameters: {b: \xe9}}").expect("it is written");
        let why = FileParams::read(std::slice::from_ref(&path)).expect_err("no UTF-8").to_string();
        assert_eq!(why, format!("--params-file: {path}: it is not UTF-8 text"));
        std::fs::remove_file(&path).expect("it is there");
        let gone = FileParams::read(&["/no/such.yaml".into()]).expect_err("there is none").to_string();
        assert_eq!(gone, "--params-file: /no/such.yaml: No such file or directory (os error 2)");
    }
}
