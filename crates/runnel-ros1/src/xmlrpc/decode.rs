//! Decoder of XML-RPC documents.

use std::collections::BTreeMap;
use std::num::IntErrorKind;

use super::error::{DecodeError, DecodeProblem, quoted};
use super::lexer::{Lexer, Markup};
use super::tag::Tag;
use super::{Fault, MAX_DEPTH, MAX_VALUES, Value, base64};

/// A decoded call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The method's name.
    pub method: String,
    /// Its parameters.
    pub params: Vec<Value>,
}

/// Decodes a `<methodCall>` document; accepts arbitrary bytes.
///
/// # Errors
/// If the document is not an XML-RPC call, or exceeds [`MAX_DEPTH`] or [`MAX_VALUES`].
pub fn decode_call(body: &[u8]) -> Result<Call, DecodeError> {
    let mut parser = Parser::new(body)?;
    parser.call().map_err(|error| DecodeError { method: parser.method.take(), ..error })
}

/// Decodes a `<methodResponse>` document: the value of the answer, or the fault that it reports. Accepts arbitrary
/// bytes.
///
/// # Errors
/// If the document is not an XML-RPC response, or exceeds [`MAX_DEPTH`] or [`MAX_VALUES`].
pub fn decode_response(body: &[u8]) -> Result<Result<Value, Fault>, DecodeError> {
    Parser::new(body)?.response()
}

/// A recursive descent parser. Its recursion depth is that of the values, at most [`MAX_DEPTH`].
struct Parser<'a> {
    lexer: Lexer<'a>,
    values: usize,
    method: Option<String>,
}

impl<'a> Parser<'a> {
    fn new(body: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self { lexer: Lexer::new(body)?, values: 0, method: None })
    }

    fn call(&mut self) -> Result<Call, DecodeError> {
        self.require(Markup::Open(Tag::MethodCall), "<methodCall>")?;
        self.require(Markup::Open(Tag::MethodName), "<methodName>")?;
        let method = self.leaf(Tag::MethodName)?.trim().to_owned();
        self.method = Some(method.clone());
        let params = match self.markup()? {
            Markup::Open(Tag::Params) => self.params()?,
            Markup::Close(Tag::MethodCall) => return self.require_end(Call { method, params: Vec::new() }),
            other => return Err(self.unexpected(other, "<params>")),
        };
        self.require(Markup::Close(Tag::MethodCall), "</methodCall>")?;
        self.require_end(Call { method, params })
    }

    fn response(&mut self) -> Result<Result<Value, Fault>, DecodeError> {
        self.require(Markup::Open(Tag::MethodResponse), "<methodResponse>")?;
        let answer = match self.markup()? {
            Markup::Open(Tag::Params) => Ok(self.result()?),
            Markup::Open(Tag::Fault) => Err(self.fault()?),
            other => return Err(self.unexpected(other, "<params> or <fault>")),
        };
        self.require(Markup::Close(Tag::MethodResponse), "</methodResponse>")?;
        self.require_end(answer)
    }

    /// Parses the parameters of a call, after `<params>`.
    fn params(&mut self) -> Result<Vec<Value>, DecodeError> {
        let mut params = Vec::new();
        loop {
            match self.markup()? {
                Markup::Open(Tag::Param) => params.push(self.param()?),
                Markup::Close(Tag::Params) => return Ok(params),
                other => return Err(self.unexpected(other, "<param>")),
            }
        }
    }

    /// Parses the single parameter of a response, after `<params>`.
    fn result(&mut self) -> Result<Value, DecodeError> {
        self.require(Markup::Open(Tag::Param), "<param>")?;
        let value = self.param()?;
        self.require(Markup::Close(Tag::Params), "</params>")?;
        Ok(value)
    }

    fn param(&mut self) -> Result<Value, DecodeError> {
        self.require(Markup::Open(Tag::Value), "<value>")?;
        let value = self.value(1)?;
        self.require(Markup::Close(Tag::Param), "</param>")?;
        Ok(value)
    }

    fn fault(&mut self) -> Result<Fault, DecodeError> {
        self.require(Markup::Open(Tag::Value), "<value>")?;
        let value = self.value(1)?;
        self.require(Markup::Close(Tag::Fault), "</fault>")?;
        fault_of(value).ok_or_else(|| self.lexer.error(DecodeProblem::BadFault))
    }

    /// Parses a value, after `<value>`.
    fn value(&mut self, depth: usize) -> Result<Value, DecodeError> {
        self.count_value(depth)?;
        let token = self.lexer.next()?;
        match token.markup {
            Markup::Close(Tag::Value) => Ok(Value::String(token.text.into_owned())),
            Markup::Open(tag) => {
                self.require_blank(&token.text)?;
                let value = self.typed_value(tag, depth)?;
                self.require(Markup::Close(Tag::Value), "</value>")?;
                Ok(value)
            }
            other => Err(self.unexpected(other, "a type or </value>")),
        }
    }

    /// Counts a value against the limits before memory is used for it.
    fn count_value(&mut self, depth: usize) -> Result<(), DecodeError> {
        if depth > MAX_DEPTH {
            return Err(self.lexer.error(DecodeProblem::TooDeep));
        }
        if self.values == MAX_VALUES {
            return Err(self.lexer.error(DecodeProblem::TooManyValues));
        }
        self.values += 1;
        Ok(())
    }

    /// Parses the content of a type element, after its start tag.
    fn typed_value(&mut self, tag: Tag, depth: usize) -> Result<Value, DecodeError> {
        match tag {
            Tag::Int => self.parsed_leaf(tag, int),
            Tag::Boolean => self.parsed_leaf(tag, boolean),
            Tag::Double => self.parsed_leaf(tag, double),
            Tag::Base64 => self.parsed_leaf(tag, binary),
            Tag::String => self.leaf(tag).map(Value::String),
            Tag::DateTime => self.leaf(tag).map(Value::DateTime),
            Tag::Array => self.array(depth),
            Tag::Struct => self.structure(depth),
            other => Err(self.unexpected(Markup::Open(other), "a type")),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, DecodeError> {
        self.require(Markup::Open(Tag::Data), "<data>")?;
        let mut elements = Vec::new();
        loop {
            match self.markup()? {
                Markup::Open(Tag::Value) => elements.push(self.value(depth + 1)?),
                Markup::Close(Tag::Data) => break,
                other => return Err(self.unexpected(other, "<value>")),
            }
        }
        self.require(Markup::Close(Tag::Array), "</array>")?;
        Ok(Value::Array(elements))
    }

    /// Parses a struct. The later of two members with the same name wins, as in Python.
    fn structure(&mut self, depth: usize) -> Result<Value, DecodeError> {
        let mut members = BTreeMap::new();
        loop {
            match self.markup()? {
                Markup::Open(Tag::Member) => {
                    let (name, value) = self.member(depth)?;
                    members.insert(name, value);
                }
                Markup::Close(Tag::Struct) => return Ok(Value::Struct(members)),
                other => return Err(self.unexpected(other, "<member>")),
            }
        }
    }

    fn member(&mut self, depth: usize) -> Result<(String, Value), DecodeError> {
        self.require(Markup::Open(Tag::Name), "<name>")?;
        let name = self.leaf(Tag::Name)?;
        self.require(Markup::Open(Tag::Value), "<value>")?;
        let value = self.value(depth + 1)?;
        self.require(Markup::Close(Tag::Member), "</member>")?;
        Ok((name, value))
    }

    /// Parses the text of an element that holds only text, after its start tag.
    fn leaf(&mut self, tag: Tag) -> Result<String, DecodeError> {
        let token = self.lexer.next()?;
        match token.markup {
            Markup::Close(closed) if closed == tag => Ok(token.text.into_owned()),
            other => Err(self.unexpected(other, "text and an end tag")),
        }
    }

    fn parsed_leaf(&mut self, tag: Tag, parse: fn(&str) -> ParsedText) -> Result<Value, DecodeError> {
        let text = self.leaf(tag)?;
        parse(text.trim()).map_err(|problem| self.lexer.text_error(problem))
    }

    /// The next tag, which only white space may precede.
    fn markup(&mut self) -> Result<Markup, DecodeError> {
        let token = self.lexer.next()?;
        self.require_blank(&token.text)?;
        Ok(token.markup)
    }

    fn require(&mut self, expected: Markup, name: &'static str) -> Result<(), DecodeError> {
        let found = self.markup()?;
        if found == expected { Ok(()) } else { Err(self.unexpected(found, name)) }
    }

    fn require_blank(&self, text: &str) -> Result<(), DecodeError> {
        match text.trim_ascii() {
            "" => Ok(()),
            stray => Err(self.lexer.text_error(DecodeProblem::StrayText(quoted(stray)))),
        }
    }

    fn require_end<T>(&mut self, document: T) -> Result<T, DecodeError> {
        self.require(Markup::End, "the end of the document")?;
        Ok(document)
    }

    fn unexpected(&self, found: Markup, expected: &'static str) -> DecodeError {
        let found = match found {
            Markup::Open(tag) => format!("<{}>", tag.name()),
            Markup::Close(tag) => format!("</{}>", tag.name()),
            Markup::End => "the end of the document".to_owned(),
        };
        self.lexer.error(DecodeProblem::Unexpected { found, expected })
    }
}

type ParsedText = Result<Value, DecodeProblem>;

fn int(text: &str) -> ParsedText {
    text.parse().map(Value::Int).map_err(|error: core::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => DecodeProblem::IntegerRange(quoted(text)),
        _ => DecodeProblem::BadText(quoted(text)),
    })
}

fn boolean(text: &str) -> ParsedText {
    match text {
        "0" => Ok(Value::Bool(false)),
        "1" => Ok(Value::Bool(true)),
        _ => Err(DecodeProblem::BadText(quoted(text))),
    }
}

fn double(text: &str) -> ParsedText {
    text.parse().map(Value::Double).map_err(|_| DecodeProblem::BadText(quoted(text)))
}

fn binary(text: &str) -> ParsedText {
    base64::decode(text).map(Value::Binary).ok_or_else(|| DecodeProblem::BadText(quoted(text)))
}

fn fault_of(value: Value) -> Option<Fault> {
    let Value::Struct(mut members) = value else { return None };
    match (members.remove("faultCode"), members.remove("faultString")) {
        (Some(Value::Int(code)), Some(Value::String(message))) => Some(Fault { code, message }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
