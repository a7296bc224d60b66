//! Nodes: readers of the values in a text, and the context that they share.

use crate::dynamic::{Budget, DynamicErrorKind};
use crate::time::Time;
use crate::yaml::YamlErrorKind;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;

/// State shared by all nodes of one text.
pub(super) struct Context {
    pub(super) now: Time,
    pub(super) budget: RefCell<Budget>,
    /// The fields and elements that are being read, outermost first. One that failed stays.
    path: RefCell<Vec<String>>,
    /// The first thing that went wrong, which the parser's own errors cannot carry.
    failure: RefCell<Option<YamlErrorKind>>,
}

impl Context {
    pub(super) fn new(now: Time) -> Self {
        let budget = RefCell::new(Budget::new());
        Self { now, budget, path: RefCell::default(), failure: RefCell::default() }
    }

    /// Does `read` with a step more on the path.
    pub(super) fn within<T, E>(&self, step: String, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.path.borrow_mut().push(step);
        let value = read()?;
        self.path.borrow_mut().pop();
        Ok(value)
    }

    /// A node as the parser calls it.
    pub(super) fn visit<N: Node>(&self, node: N) -> Visit<'_, N> {
        Visit { context: self, node }
    }

    /// Records the error; the returned one is only a marker.
    pub(super) fn fail<E: Error>(&self, kind: impl Into<YamlErrorKind>) -> E {
        self.failure.borrow_mut().get_or_insert(kind.into());
        E::custom("value does not fit")
    }

    pub(super) fn failure(&self) -> Option<YamlErrorKind> {
        self.failure.borrow_mut().take()
    }

    pub(super) fn path(&self) -> Vec<String> {
        self.path.borrow().clone()
    }

    /// Counts the memory of a value.
    pub(super) fn take(&self, bytes: usize) -> Result<(), DynamicErrorKind> {
        self.budget.borrow_mut().take(1, bytes)
    }
}

/// A value that is neither list nor mapping.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar<'a> {
    Nothing,
    Truth(bool),
    Whole(i128),
    Float(f64),
    Text(&'a str),
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Truth(value) => write!(f, "the truth value {value}"),
            Self::Whole(value) => write!(f, "the number {value}"),
            Self::Float(value) => write!(f, "the number {value:?}"),
            Self::Text(text) => write!(f, "the string {:?}", text.chars().take(60).collect::<String>()),
        }
    }
}

/// Reader of one kind of value.
pub(super) trait Node: Sized {
    type Output;

    /// Whether a scalar is read as typed, independent of its meaning in YAML.
    fn expects_text(&self) -> bool {
        false
    }

    /// Describes the expected value.
    fn expected(&self) -> String;

    fn scalar(self, _context: &Context, scalar: Scalar<'_>) -> Result<Self::Output, YamlErrorKind> {
        Err(wrong_type(self.expected(), scalar.to_string()))
    }

    fn list<'de, A: SeqAccess<'de>>(self, context: &Context, _list: A) -> Result<Self::Output, A::Error> {
        Err(context.fail(wrong_type(self.expected(), "a list".into())))
    }

    fn mapping<'de, A: MapAccess<'de>>(
        self,
        context: &Context,
        _mapping: A,
    ) -> Result<Self::Output, A::Error> {
        Err(context.fail(wrong_type(self.expected(), "a mapping".into())))
    }
}

pub(super) fn wrong_type(expected: String, found: String) -> YamlErrorKind {
    DynamicErrorKind::WrongType { expected, found }.into()
}

/// A node as the parser calls it.
pub(super) struct Visit<'c, N> {
    context: &'c Context,
    node: N,
}

impl<'de, N: Node> DeserializeSeed<'de> for Visit<'_, N> {
    type Value = N::Output;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<N::Output, D::Error> {
        match self.node.expects_text() {
            true => deserializer.deserialize_option(self),
            false => deserializer.deserialize_any(self),
        }
    }
}

impl<N: Node> Visit<'_, N> {
    fn scalar<E: Error>(self, scalar: Scalar<'_>) -> Result<N::Output, E> {
        self.node.scalar(self.context, scalar).map_err(|kind| self.context.fail(kind))
    }
}

impl<'de, N: Node> Visitor<'de> for Visit<'_, N> {
    type Value = N::Output;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.node.expected())
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<N::Output, E> {
        self.scalar(Scalar::Truth(value))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<N::Output, E> {
        self.scalar(Scalar::Whole(value.into()))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<N::Output, E> {
        self.scalar(Scalar::Whole(value.into()))
    }
    fn visit_i128<E: Error>(self, value: i128) -> Result<N::Output, E> {
        self.scalar(Scalar::Whole(value))
    }
    fn visit_u128<E: Error>(self, value: u128) -> Result<N::Output, E> {
        // What does not even fit here is out of the range of every type, as the largest is.
        self.scalar(Scalar::Whole(i128::try_from(value).unwrap_or(i128::MAX)))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<N::Output, E> {
        self.scalar(Scalar::Float(value))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<N::Output, E> {
        self.scalar(Scalar::Text(value))
    }
    fn visit_unit<E: Error>(self) -> Result<N::Output, E> {
        self.scalar(Scalar::Nothing)
    }
    fn visit_none<E: Error>(self) -> Result<N::Output, E> {
        self.scalar(Scalar::Nothing)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<N::Output, D::Error> {
        let Self { context, .. } = self;
        let expected = self.node.expected();
        // The parser refuses lists and mappings here.
        deserializer.deserialize_str(self).inspect_err(|_| {
            let _: D::Error = context.fail(wrong_type(expected, "something else".into()));
        })
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<N::Output, A::Error> {
        self.node.list(self.context, list)
    }
    fn visit_map<A: MapAccess<'de>>(self, mapping: A) -> Result<N::Output, A::Error> {
        self.node.mapping(self.context, mapping)
    }
}
