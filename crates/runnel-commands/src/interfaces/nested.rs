//! Definitions as `ros2 interface show` prints them: the lines of the file, each nested message below its field.

use std::sync::Arc;

use runnel::core::schema::Schema;

use super::Found;

/// Which comments and empty lines are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// All, also those of nested messages.
    All,
    /// Those of the outermost definition.
    Outermost,
    None,
}

/// The lines of all parts of a type, with nested messages indented by tabs.
pub fn with_nested(found: &Found, comments: Comments) -> String {
    let part = |schema: &Schema| {
        let mut text = String::new();
        append(schema, comments, 0, &mut text);
        text
    };
    found.parts().into_iter().map(part).collect::<Vec<_>>().join("---\n")
}

fn append(schema: &Schema, comments: Comments, depth: usize, text: &mut String) {
    let keeps_comments = match comments {
        Comments::All => true,
        Comments::Outermost => depth == 0,
        Comments::None => false,
    };
    for line in schema.def.text.trim_end().lines() {
        let line = line.trim_end();
        let shown = if keeps_comments { line } else { without_comment(line) };
        if !shown.is_empty() {
            text.extend(std::iter::repeat_n('\t', depth));
            text.push_str(shown);
            text.push('\n');
        } else if keeps_comments {
            text.push('\n');
        }
        if let Some(part) = nested(schema, line) {
            append(part, comments, depth + 1, text);
        } else if is_time(line) {
            let indent = "\t".repeat(depth + 1);
            *text += &format!("{indent}int32 sec\n{indent}uint32 nanosec\n");
        }
    }
}

/// The message that the field of a line has.
fn nested<'a>(schema: &'a Schema, line: &str) -> Option<&'a Arc<Schema>> {
    let name = field_name(line)?;
    let index = schema.def.fields.iter().position(|field| field.name == name)?;
    schema.parts.get(index)?.as_ref()
}

/// Times are no messages here.
fn is_time(line: &str) -> bool {
    let element = line.split(['[', ' ', '\t']).next().unwrap_or_default();
    let is_time = matches!(
        element,
        "builtin_interfaces/Time"
            | "builtin_interfaces/msg/Time"
            | "builtin_interfaces/Duration"
            | "builtin_interfaces/msg/Duration"
    );
    is_time && field_name(line).is_some()
}

/// The name of the field in a line; `None` if it has none, or a constant.
fn field_name(line: &str) -> Option<&str> {
    let mut words = without_comment(line).split_whitespace();
    let (_, name) = (words.next()?, words.next()?);
    let is_constant = name.contains('=') || words.next().is_some_and(|word| word.starts_with('='));
    (!is_constant).then_some(name)
}

/// A line without a comment at its end. Within quotes a number sign is text.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return line[..at].trim(),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    line.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::core::schema::{Generation, Kind, Library, TypeName};

    const OUTER: &str = "# About it\n\nint8 A=1  # a constant\nstring s \"#1\" # text\np/Inner[2] inner # nested\n\
                         builtin_interfaces/Time at\n";

    fn text(comments: Comments) -> String {
        let mut library = Library::new();
        library.add_text(Kind::Message, TypeName::new("p", "Outer"), OUTER, "Outer.msg");
        library.add_text(Kind::Message, TypeName::new("p", "Inner"), "# inner\nint8 x\n", "Inner.msg");
        let schema = library.message_in(Generation::Ros2, &TypeName::new("p", "Outer")).expect("sound");
        with_nested(&Found::Message(schema), comments)
    }

    #[test]
    fn comments_are_kept_as_requested() {
        let time = "builtin_interfaces/Time at\n\tint32 sec\n\tuint32 nanosec\n";
        let head =
            "# About it\n\nint8 A=1  # a constant\nstring s \"#1\" # text\np/Inner[2] inner # nested\n";
        assert_eq!(text(Comments::All), format!("{head}\t# inner\n\tint8 x\n{time}"));
        assert_eq!(text(Comments::Outermost), format!("{head}\tint8 x\n{time}"));
        assert_eq!(
            text(Comments::None),
            format!("int8 A=1\nstring s \"#1\"\np/Inner[2] inner\n\tint8 x\n{time}")
        );
    }
}
