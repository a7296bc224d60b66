//! Declarations of one source file: its modules, and the paths that begin at the crate's root. Code that is compiled only for
//! tests is ignored.

use crate::tokens::{Kind, Token, tokens};

/// A path from the crate's root, such as `["data", "Frame"]`; its last part is `*` for a glob import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The parts of the path.
    pub path: Vec<String>,
    /// The name after `as`, otherwise the last part.
    pub alias: String,
    /// The line of the path.
    pub line: usize,
}

/// Modules and paths of a file.
#[derive(Debug, Default)]
pub struct Source {
    /// The modules with separate files, as paths from the root.
    pub modules: Vec<Vec<String>>,
    /// The paths that begin with `crate`, `super` or `self`.
    pub named: Vec<Named>,
    /// Other paths of `use`, as if they began at the root, which is possible in the root's file.
    pub imports: Vec<Named>,
}

impl Source {
    /// Reads the file of a module with this path from the root.
    pub fn read(module: &[String], text: &str) -> Self {
        let tokens = tokens(text);
        let mut reader =
            Reader { tokens: &tokens, at: 0, inner: Vec::new(), module, source: Self::default() };
        reader.read();
        reader.source
    }
}

struct Reader<'t> {
    tokens: &'t [Token<'t>],
    at: usize,
    /// The open blocks: the name of a module, or `None` for any other block.
    inner: Vec<Option<&'t str>>,
    module: &'t [String],
    source: Source,
}

/// The keywords that begin an item or a statement, after its visibility.
const ITEMS: [&str; 15] = [
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "let",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "unsafe",
    "use",
];

impl<'t> Reader<'t> {
    fn read(&mut self) {
        while let Some(token) = self.tokens.get(self.at) {
            match token.kind {
                Kind::Mark('#') if self.is_test_attribute() => {
                    if self.mark(1, '!') {
                        return;
                    }
                    self.skip_item();
                }
                Kind::Mark('{') => self.open(None),
                Kind::Mark('}') => {
                    self.inner.pop();
                    self.at += 1;
                }
                Kind::Word("mod") => self.module(),
                Kind::Word("use") => self.import(),
                Kind::Word("crate" | "super" | "self") if self.is_followed_by_path() => {
                    self.path(self.current_module(), false);
                }
                _ => self.at += 1,
            }
        }
    }

    fn open(&mut self, module: Option<&'t str>) {
        self.inner.push(module);
        self.at += 1;
    }

    fn kind(&self, ahead: usize) -> Option<Kind<'t>> {
        self.tokens.get(self.at + ahead).map(|token| token.kind)
    }

    fn mark(&self, ahead: usize, mark: char) -> bool {
        self.kind(ahead) == Some(Kind::Mark(mark))
    }

    fn word(&self, ahead: usize) -> Option<&'t str> {
        match self.kind(ahead) {
            Some(Kind::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn is_followed_by_path(&self) -> bool {
        self.mark(1, ':') && self.mark(2, ':')
    }

    /// The path of the module of the next token.
    fn current_module(&self) -> Vec<String> {
        self.module
            .iter()
            .cloned()
            .chain(self.inner.iter().flatten().map(|name| (*name).to_owned()))
            .collect()
    }

    fn module(&mut self) {
        self.at += 1;
        let Some(name) = self.word(0) else { return };
        if self.mark(1, '{') {
            self.at += 1;
            self.open(Some(name));
        } else if self.mark(1, ';') {
            let mut path = self.current_module();
            path.push(name.to_owned());
            self.source.modules.push(path);
        }
    }

    fn import(&mut self) {
        self.at += 1;
        if !matches!(self.word(0), None | Some("crate" | "super" | "self")) {
            self.path(Vec::new(), true);
        }
    }

    /// Reads a path, or all paths of a group, relative to the module `from`.
    fn path(&mut self, mut from: Vec<String>, is_import: bool) {
        loop {
            let line = self.tokens.get(self.at).map_or(0, |token| token.line);
            match self.kind(0) {
                Some(Kind::Word("crate")) => from.clear(),
                Some(Kind::Word("super")) => drop(from.pop()),
                Some(Kind::Word("self")) => {}
                Some(Kind::Word(word)) => from.push(word.to_owned()),
                Some(Kind::Mark('*')) => from.push("*".to_owned()),
                Some(Kind::Mark('{')) => return self.group(&from, is_import),
                _ => return self.add(from, line, is_import),
            }
            self.at += 1;
            if !(self.mark(0, ':') && self.mark(1, ':')) {
                return self.add(from, line, is_import);
            }
            self.at += 2;
        }
    }

    fn group(&mut self, from: &[String], is_import: bool) {
        self.at += 1;
        while self.kind(0).is_some() && !self.mark(0, '}') {
            let before = self.at;
            self.path(from.to_vec(), is_import);
            // A comma, or an unexpected token.
            self.at += usize::from(self.mark(0, ',') || self.at == before);
        }
        self.at += 1;
    }

    fn add(&mut self, path: Vec<String>, line: usize, is_import: bool) {
        let mut alias = path.last().cloned().unwrap_or_default();
        if let (Some("as"), Some(name)) = (self.word(0), self.word(1)) {
            alias = name.to_owned();
            self.at += 2;
        }
        let named = Named { path, alias, line };
        if is_import { self.source.imports.push(named) } else { self.source.named.push(named) }
    }

    /// Whether the next token begins a `cfg` attribute for test code. Does not advance.
    fn is_test_attribute(&self) -> bool {
        let bracket = if self.mark(1, '!') { 2 } else { 1 };
        if !self.mark(bracket, '[') || self.word(bracket + 1) != Some("cfg") {
            return false;
        }
        let open = self.at + bracket + 2;
        let close = self.end_of_group(open);
        self.tokens.get(open + 1..close).is_some_and(is_for_tests)
    }

    /// The index of the bracket that closes the one at `open`.
    fn end_of_group(&self, open: usize) -> usize {
        let mut depth = 0;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            depth += depth_change(token.kind);
            if depth <= 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    /// Skips attributes and the item, field, variant or statement after them.
    fn skip_item(&mut self) {
        while self.mark(0, '#') {
            self.at = self.end_of_group(self.at + 1) + 1;
        }
        if self.word(0) == Some("pub") {
            self.at += 1;
            if self.mark(0, '(') {
                self.at = self.end_of_group(self.at) + 1;
            }
        }
        let is_item = self.word(0).is_some_and(|word| ITEMS.contains(&word));
        let is_import = self.word(0) == Some("use");
        while let Some(kind) = self.kind(0) {
            match kind {
                Kind::Mark('{') if !is_import => {
                    self.at = self.end_of_group(self.at) + 1;
                    return;
                }
                Kind::Mark('(' | '[' | '{') => self.at = self.end_of_group(self.at) + 1,
                Kind::Mark(')' | ']' | '}') => return,
                Kind::Mark(';') => return self.at += 1,
                Kind::Mark(',') if !is_item => return self.at += 1,
                _ => self.at += 1,
            }
        }
    }
}

fn depth_change(kind: Kind<'_>) -> i32 {
    match kind {
        Kind::Mark('(' | '[' | '{') => 1,
        Kind::Mark(')' | ']' | '}') => -1,
        _ => 0,
    }
}

/// Whether a condition of `cfg` holds only in tests: `test`, `all(.., test, ..)`, or `any(..)` of such conditions.
fn is_for_tests(condition: &[Token<'_>]) -> bool {
    let arguments = || arguments(condition.get(2..condition.len().saturating_sub(1)).unwrap_or_default());
    match condition.first().map(|token| token.kind) {
        Some(Kind::Word("test")) => condition.len() == 1,
        Some(Kind::Word("all")) => arguments().into_iter().any(is_for_tests),
        Some(Kind::Word("any")) => arguments().into_iter().all(is_for_tests),
        _ => false,
    }
}

/// The parts between top-level commas.
fn arguments<'s, 't>(tokens: &'s [Token<'t>]) -> Vec<&'s [Token<'t>]> {
    let mut depth = 0;
    let parts = tokens.split(|token| {
        depth += depth_change(token.kind);
        depth == 0 && token.kind == Kind::Mark(',')
    });
    parts.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::read(&["own".to_owned()], text)
    }

    fn named(text: &str) -> Vec<String> {
        source(text).named.iter().map(|named| format!("{}:{}", named.path.join("::"), named.line)).collect()
    }

    #[test]
    fn groups_may_be_nested_over_several_lines() {
        assert_eq!(
            named("use crate::a;\nuse crate::{b, c::D as E, self as root};"),
            ["a:1", "b:2", "c::D:2", ":2"]
        );
        let nested = "pub(crate) use crate::{\n    a::{self, B, c::*},\n    d::{\n        E,\n    },\n};";
        assert_eq!(named(nested), ["a:2", "a::B:2", "a::c::*:2", "d::E:4"]);
    }

    #[test]
    fn paths_inside_code_are_found() {
        assert_eq!(
            named("fn f(x: &crate::a::X) -> Vec<crate::b::Y> { crate::c::d::<crate::e::Z>() }").len(),
            4
        );
        assert_eq!(named("#[arg(value_parser = crate::a::seconds)]\nx: u8"), ["a::seconds:1"]);
        assert_eq!(named("macro_rules! m { () => { $crate::a::f() } }"), ["a::f:1"]);
        assert_eq!(named("pub(crate) fn f() {}\nuse std::a;\nuse serde::{b, c};"), [""; 0]);
    }

    #[test]
    fn super_is_the_parent_module() {
        assert_eq!(named("use super::a::B;\nuse super::{c, d::E};"), ["a::B:1", "c:2", "d::E:2"]);
        assert_eq!(named("use super::*;"), ["*:1"]);
        let inner =
            "mod inner { use super::a; use super::super::b; use super::{super::c, d}; }\nuse super::e;";
        assert_eq!(named(inner), ["own::a:1", "b:1", "c:1", "own::d:1", "e:2"]);
        assert_eq!(named("use self::a::B;"), ["own::a::B:1"]);
    }

    #[test]
    fn blocks_other_than_modules_change_no_path() {
        assert_eq!(named("fn f() { if x { super::a::g() } }\nimpl X { fn h() { super::b::g() } }").len(), 2);
        assert_eq!(named("mod inner { fn f() {} }\nfn g() { super::a() }"), ["a:2"]);
    }

    #[test]
    fn test_code_is_ignored() {
        for test_only in [
            "#[cfg(test)] mod tests { use crate::a; fn f() { {} } }",
            "#[cfg(test)] mod tests;",
            "#[cfg(test)]\n#[allow(unused)]\nuse crate::{a, b::{c, d}};",
            "#[cfg(test)] pub use crate::a::tests;",
            "#[cfg(test)] pub(crate) fn f(x: [u8; 3]) -> crate::a::X { crate::b::f(); }",
            "#[cfg(all(test, not(loom)))] impl crate::a::X for Y { }",
            "#[cfg(any(test, all(unix, test)))] const X: crate::a::X = crate::b::Y { z: 1 };",
            "struct S { #[cfg(test)] pub(crate) count: crate::a::Count, other: u8 }",
            "struct S { #[cfg(test)] count: crate::a::Count }",
        ] {
            let source = source(&format!("{test_only}\nuse crate::kept;"));
            let paths: Vec<_> = source.named.iter().map(|named| named.path.join("::")).collect();
            assert_eq!(paths, ["kept"], "{test_only}");
            assert!(source.modules.is_empty(), "{test_only}");
        }
        assert_eq!(named("#![cfg(test)]\nuse crate::a;"), [""; 0]);
    }

    #[test]
    fn code_for_tests_and_more_is_kept() {
        for kept in [
            "cfg(not(test))",
            "cfg(any(test, feature = \"x\"))",
            "cfg(all(unix, loom))",
            "test",
            "cfg(tests)",
        ] {
            assert_eq!(named(&format!("#[{kept}] use crate::a;")), ["a:1"], "{kept}");
        }
        assert_eq!(named("struct S { #[cfg(test)] pub(crate) a: u8, b: crate::b::B }"), ["b::B:1"]);
    }

    #[test]
    fn modules_with_files_have_full_paths() {
        let source = source("pub mod a;\nmod b { mod c; }\nmod d { }\npub(crate) mod e;");
        let paths: Vec<_> = source.modules.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["own::a", "own::b::c", "own::e"]);
    }

    #[test]
    fn imports_of_the_root_keep_their_aliases() {
        let source = Source::read(&[], "pub use a::{B, c::D as E};\nuse f::*;\nuse crate::g::H;");
        let imports: Vec<_> =
            source.imports.iter().map(|one| (one.path.join("::"), one.alias.as_str())).collect();
        assert_eq!(imports, [("a::B".into(), "B"), ("a::c::D".into(), "E"), ("f::*".into(), "*")]);
    }
}
