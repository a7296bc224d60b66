use super::*;
use crate::dynamic::DynamicErrorKind;
use crate::yaml::{MAX_BRACKETS, YamlError, YamlErrorKind};
use proptest::prelude::{ProptestConfig, proptest};

fn plain(text: &str) -> YamlNode {
    YamlNode { tag: None, value: YamlValue::Plain(text.into()) }
}

fn list(elements: impl IntoIterator<Item = YamlNode>) -> YamlNode {
    YamlNode { tag: None, value: YamlValue::List(elements.into_iter().collect()) }
}

fn one(text: &str) -> YamlNode {
    parse_documents(text).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0)
}

fn refused(text: &str) -> YamlErrorKind {
    parse_documents(text).as_ref().map_err(YamlError::kind).expect_err("refused").clone()
}

#[test]
fn quotes_and_tags_are_kept() {
    let quoted = |text: &str| YamlNode { tag: None, value: YamlValue::Quoted(text.into()) };
    assert_eq!(one("[a, 'b', \"c\\n\"]"), list([plain("a"), quoted("b"), quoted("c\n")]));
    assert_eq!(one("|\n  a\n  b\n"), quoted("a\nb\n"));
    for tag in ["!degrees", "!!str", "!"] {
        assert_eq!(one(&format!("{tag} 5")).tag.as_deref(), Some(tag));
    }
}

#[test]
fn aliases_stand_for_the_nodes_of_their_anchors() {
    let pair = || list([plain("x"), plain("y")]);
    assert_eq!(one("- &a [&b x, y]\n- *a\n- *b\n- [*a, z]"), {
        list([pair(), pair(), plain("x"), list([pair(), plain("z")])])
    });
    assert_eq!(one("- &a x\n- &a y\n- *a"), list([plain("x"), plain("y"), plain("y")]));
    assert!(matches!(refused("&a [*a]"), YamlErrorKind::Syntax(_)));
    assert!(matches!(refused("- *a"), YamlErrorKind::Syntax(_)));
    assert!(matches!(refused("- &a x\n---\n- *a"), YamlErrorKind::Syntax(_)));
}

#[test]
fn document_without_text_is_null() {
    for text in ["", "# comment\n"] {
        assert_eq!(parse_documents(text).as_deref(), Ok([plain("")].as_slice()), "{text:?}");
    }
    assert_eq!(parse_documents("a\n---\nb\n").map(|documents| documents.len()), Ok(2));
}

#[test]
fn nesting_is_bounded_in_flow_and_block_style_and_by_aliases() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse_documents(&nested(MAX_BRACKETS)).is_ok());
    assert_eq!(refused(&nested(MAX_BRACKETS + 1)), YamlErrorKind::TooDeep);
    for text in ["[".repeat(1 << 20), "{a: ".repeat(1 << 18), "- ".repeat(1 << 20), "? ".repeat(1 << 20)] {
        assert!(matches!(refused(&text), YamlErrorKind::TooDeep | YamlErrorKind::Syntax(_)));
    }
    let half = MAX_BRACKETS / 2;
    let deeper = format!("- &a {}\n- {}*a{}", nested(half), "[".repeat(half), "]".repeat(half));
    assert_eq!(refused(&deeper), YamlErrorKind::TooDeep);
}

#[test]
fn memory_of_aliases_is_bounded() {
    let mut laughs = String::from("- &a0 [lol, lol, lol, lol]\n");
    for level in 0..20 {
        laughs += &format!("- &a{} [*a{level}, *a{level}, *a{level}, *a{level}]\n", level + 1);
    }
    assert_eq!(refused(&laughs), YamlErrorKind::Message(DynamicErrorKind::TooLarge));
}

#[test]
fn broken_texts_are_refused() {
    for text in [
        "{---",
        "[...",
        "a: [",
        "'",
        "\"\\x",
        "%YAML",
        "!<",
        "&",
        "{a: b",
        "\t- a\n\tb: c",
        "? ? [",
        "|9\n a",
        "a: b: c",
    ] {
        assert!(matches!(refused(text), YamlErrorKind::Syntax(_)), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Regression test: the parser did not terminate on such text.
    #[test]
    fn yaml_like_text_never_panics(
        text in "([\\[\\]{},:?&*!|>'\"%@#.~ab0 \n\t-]|---|[.]{3}|<<|: |- |\n  ){0,50}"
    ) {
        let _ = parse_documents(&text);
        let _ = indented(&text);
    }
}
