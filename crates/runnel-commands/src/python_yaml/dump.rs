//! YAML as PyYAML's `dump` writes it with `allow_unicode` and without a limit of the width.

use runnel::core::yaml::block_text;

/// A document.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A number or a truth value, as it is written.
    Plain(String),
    /// A text, quoted if necessary.
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    /// In block style, with a line break at the end.
    pub fn block(&self) -> String {
        let mut text = String::new();
        Block { lists_in_flow: false }.value(self, 0, &mut text);
        text
    }

    /// The same, but with each list on one line: `[1, {x: 2}]`.
    pub fn block_with_flow_lists(&self) -> String {
        let mut text = String::new();
        Block { lists_in_flow: true }.value(self, 0, &mut text);
        text
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Map(members) => members.is_empty(),
            Self::Plain(_) | Self::Text(_) => true,
        }
    }
}

struct Block {
    lists_in_flow: bool,
}

impl Block {
    /// Appends a value whose first line continues the current one, which is indented by `indent`.
    fn value(&self, tree: &Tree, indent: usize, text: &mut String) {
        match tree {
            Tree::List(_) if self.lists_in_flow => {
                in_flow(tree, text);
                text.push('\n');
            }
            Tree::List(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    begin_line(index, indent, text);
                    text.push_str("- ");
                    self.value(item, indent + 2, text);
                }
            }
            Tree::Map(members) if !members.is_empty() => {
                for (index, (name, value)) in members.iter().enumerate() {
                    begin_line(index, indent, text);
                    text.push_str(name);
                    text.push(':');
                    self.after_name(value, indent, text);
                }
            }
            Tree::Plain(plain) => *text += &format!("{plain}\n"),
            Tree::Text(value) => *text += &format!("{}\n", quoted(value, indent.max(2), false)),
            Tree::List(_) => text.push_str("[]\n"),
            Tree::Map(_) => text.push_str("{}\n"),
        }
    }

    /// A list in a mapping is not indented.
    fn after_name(&self, value: &Tree, indent: usize, text: &mut String) {
        let is_list = matches!(value, Tree::List(_));
        let inner = if is_list { indent } else { indent + 2 };
        if value.is_empty() || is_list && self.lists_in_flow {
            text.push(' ');
        } else {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', inner));
        }
        self.value(value, inner, text);
    }
}

/// The first line continues the current one.
fn begin_line(index: usize, indent: usize, text: &mut String) {
    if index > 0 {
        text.extend(std::iter::repeat_n(' ', indent));
    }
}

fn in_flow(tree: &Tree, text: &mut String) {
    match tree {
        Tree::Plain(plain) => text.push_str(plain),
        Tree::Text(value) => *text += &quoted(value, 2, true),
        Tree::List(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                in_flow(item, text);
            }
            text.push(']');
        }
        Tree::Map(members) => {
            text.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                *text += &format!("{}{name}: ", if index > 0 { ", " } else { "" });
                in_flow(value, text);
            }
            text.push('}');
        }
    }
}

/// A text, in quotes if it would be read back as something else.
fn quoted(value: &str, indent: usize, in_flow: bool) -> String {
    let needs_escapes = !value.chars().all(|c| c == '\n' || is_printable(c));
    if needs_escapes || value.contains("\n ") || value.contains(" \n") {
        return double_quoted(value);
    }
    if is_plain(value) && !(in_flow && is_structured(value)) {
        return value.to_owned();
    }
    single_quoted(value, indent)
}

/// Whether a text can stand without quotes in block style.
fn is_plain(value: &str) -> bool {
    // Other letters have no meaning in YAML, as this one.
    let letters: String = value.chars().map(|c| if c.is_ascii() { c } else { 'Q' }).collect();
    !value.contains('\n') && !block_text(&letters, 0, 2).starts_with(['\'', '"'])
}

/// Whether it has characters that separate values in flow style.
fn is_structured(value: &str) -> bool {
    value.contains([',', '?', '[', ']', '{', '}', ':'])
}

fn single_quoted(value: &str, indent: usize) -> String {
    let mut text = String::from("'");
    let mut rest = value;
    while let Some(at) = rest.find('\n') {
        let (line, after) = rest.split_at(at);
        text += &line.replace('\'', "''");
        let next = after.trim_start_matches('\n');
        // One line break more than in the text: a single one is read as a space.
        text += &"\n".repeat(after.len() - next.len() + 1);
        text.extend(std::iter::repeat_n(' ', indent));
        rest = next;
    }
    text + &rest.replace('\'', "''") + "'"
}

fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
        && !matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')
}

fn double_quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\0' => text.push_str("\\0"),
            '\x07' => text.push_str("\\a"),
            '\x08' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\x0b' => text.push_str("\\v"),
            '\x0c' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\x1b' => text.push_str("\\e"),
            '\u{85}' => text.push_str("\\N"),
            '\u{2028}' => text.push_str("\\L"),
            '\u{2029}' => text.push_str("\\P"),
            c if is_printable(c) => text.push(c),
            c => {
                text += &match u32::from(c) {
                    code @ 0..=0xff => format!("\\x{code:02X}"),
                    code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                    code => format!("\\U{code:08X}"),
                };
            }
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Tree {
        Tree::Text(value.into())
    }

    fn map(members: Vec<(&str, Tree)>) -> Tree {
        Tree::Map(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// As PyYAML 6.0 writes these.
    #[test]
    fn documents_equal_those_of_pyyaml() {
        let inner = map(vec![("x", Tree::Plain("1".into())), ("y", text("a"))]);
        let tree = map(vec![
            ("inner", inner.clone()),
            ("list", Tree::List(vec![inner.clone(), inner])),
            ("lists", Tree::List(vec![Tree::List(vec![text("b"), text("c")]), Tree::List(vec![])])),
            ("none", Tree::List(Vec::new())),
        ]);
        let block = "inner:\n  x: 1\n  y: a\nlist:\n- x: 1\n  y: a\n- x: 1\n  y: a\nlists:\n- - b\n  - c\n- []\nnone: []\n";
        assert_eq!(tree.block(), block);
        let flow =
            "inner:\n  x: 1\n  y: a\nlist: [{x: 1, y: a}, {x: 1, y: a}]\nlists: [[b, c], []]\nnone: []\n";
        assert_eq!(tree.block_with_flow_lists(), flow);
    }

    /// As PyYAML 6.0 writes these.
    #[test]
    fn texts_equal_those_of_pyyaml() {
        for (value, block, flow) in [
            ("hello 1", "hello 1", "hello 1"),
            ("", "''", "''"),
            ("5", "'5'", "'5'"),
            ("true", "'true'", "'true'"),
            ("it's", "it's", "it's"),
            ("a: b", "'a: b'", "'a: b'"),
            ("a, b", "a, b", "'a, b'"),
            ("a:b", "a:b", "'a:b'"),
            ("...", "'...'", "'...'"),
            ("über", "über", "über"),
            ("1é", "1é", "1é"),
            ("a\tb", "\"a\\tb\"", "\"a\\tb\""),
            ("\0", "\"\\0\"", "\"\\0\""),
            ("y", "y", "y"),
            ("-1", "'-1'", "'-1'"),
            ("null", "'null'", "'null'"),
            (" lead", "' lead'", "' lead'"),
            ("a#b", "a#b", "a#b"),
            ("a #b", "'a #b'", "'a #b'"),
            ("1e3", "1e3", "1e3"),
            ("0x1F", "'0x1F'", "'0x1F'"),
            ("é: x", "'é: x'", "'é: x'"),
            ("é's: x", "'é''s: x'", "'é''s: x'"),
            ("<string length: <5>>", "'<string length: <5>>'", "'<string length: <5>>'"),
        ] {
            let tree = map(vec![("d", text(value))]);
            assert_eq!(tree.block(), format!("d: {block}\n"), "{value:?}");
            let list = Tree::List(vec![text(value)]);
            assert_eq!(list.block_with_flow_lists(), format!("[{flow}]\n"), "{value:?}");
        }
        let long = "word ".repeat(40) + "end";
        assert_eq!(text(&long).block(), format!("{long}\n"));
        assert_eq!(map(vec![("d", text("a\nb'"))]).block(), "d: 'a\n\n  b'''\n");
        assert_eq!(map(vec![("d", text("a\n"))]).block(), "d: 'a\n\n  '\n");
        assert_eq!(map(vec![("o", map(vec![("d", text("a\n\nb"))]))]).block(), "o:\n  d: 'a\n\n\n    b'\n");
    }
}
