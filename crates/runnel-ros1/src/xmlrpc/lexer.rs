//! Tokens of an XML-RPC document: each tag with the text before it.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};

use super::error::{DecodeError, DecodeProblem, quoted};
use super::first_forbidden;
use super::tag::Tag;

/// A start tag, an end tag, or the end of the document. `<a/>` counts as a start and an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    Open(Tag),
    Close(Tag),
    End,
}

/// A tag, and the text before it with entities resolved.
pub(super) struct Token<'a> {
    pub text: Cow<'a, str>,
    pub markup: Markup,
}

/// Splits one document into tokens. Comments and processing instructions are skipped.
pub(super) struct Lexer<'a> {
    reader: Reader<&'a [u8]>,
    open: Vec<Tag>,
    ascii: bool,
    /// The element that contains the last token.
    inside: &'static str,
    /// Byte offset of the text of the last token.
    text_offset: usize,
    /// Byte offset of the last XML event.
    offset: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(body: &'a [u8]) -> Result<Self, DecodeError> {
        let text = core::str::from_utf8(body).map_err(|error| DecodeError {
            method: None,
            element: "",
            offset: error.valid_up_to(),
            problem: DecodeProblem::NotUtf8,
        })?;
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Ok(Self { reader, open: Vec::new(), ascii: text.is_ascii(), inside: "", text_offset: 0, offset: 0 })
    }

    /// The next tag and the text before it.
    pub fn next(&mut self) -> Result<Token<'a>, DecodeError> {
        let mut text = Cow::Borrowed("");
        self.inside = self.open.last().map_or("", |tag| tag.name());
        self.text_offset = self.position();
        loop {
            match self.event()? {
                Event::Text(part) => self.append(&mut text, part.into_inner())?,
                Event::CData(part) => self.append(&mut text, part.into_inner())?,
                Event::GeneralRef(reference) => {
                    let ch = self.resolve(&reference)?;
                    self.append(&mut text, Cow::Owned(ch.into()))?;
                }
                Event::Start(start) => return Ok(Token { text, markup: self.start(&start)? }),
                Event::End(_) => return Ok(Token { text, markup: self.end()? }),
                Event::Eof => return Ok(Token { text, markup: Markup::End }),
                Event::DocType(_) => return Err(self.error(DecodeProblem::DocumentType)),
                Event::Decl(declaration) => self.check_encoding(&declaration)?,
                Event::Empty(_) | Event::Comment(_) | Event::PI(_) => {}
            }
        }
    }

    /// An error at the tag of the last token.
    pub fn error(&self, problem: DecodeProblem) -> DecodeError {
        DecodeError { method: None, element: self.inside, offset: self.offset, problem }
    }

    /// An error at the text of the last token.
    pub fn text_error(&self, problem: DecodeProblem) -> DecodeError {
        DecodeError { offset: self.text_offset, ..self.error(problem) }
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    fn event(&mut self) -> Result<Event<'a>, DecodeError> {
        self.offset = self.position();
        self.reader.read_event().map_err(|error| {
            self.offset = usize::try_from(self.reader.error_position()).unwrap_or(usize::MAX);
            self.error(DecodeProblem::Xml(quoted(&error.to_string())))
        })
    }

    fn append(&self, text: &mut Cow<'a, str>, part: Cow<'a, str>) -> Result<(), DecodeError> {
        if let Some((at, ch)) = first_forbidden(&part) {
            let error = self.error(DecodeProblem::Character(ch));
            return Err(DecodeError { offset: self.offset + at, ..error });
        }
        *text += part;
        Ok(())
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<Markup, DecodeError> {
        let name = start.name();
        match Tag::from_name(name.as_ref()) {
            Some(tag) => {
                self.open.push(tag);
                Ok(Markup::Open(tag))
            }
            None if name.local_name().as_ref() == "nil" => Err(self.error(DecodeProblem::Nil)),
            None => Err(self.error(DecodeProblem::UnknownElement(quoted(name.as_ref())))),
        }
    }

    /// The XML parser has already checked that the end tag matches the innermost open element.
    fn end(&mut self) -> Result<Markup, DecodeError> {
        match self.open.pop() {
            Some(tag) => Ok(Markup::Close(tag)),
            None => Err(self.error(DecodeProblem::Xml("an end tag without its start".to_owned()))),
        }
    }

    /// The character of a reference such as `&lt;` or `&#10;`.
    fn resolve(&self, reference: &BytesRef<'_>) -> Result<char, DecodeError> {
        let unknown = || self.error(DecodeProblem::Entity(quoted(reference)));
        match &**reference {
            "lt" => Ok('<'),
            "gt" => Ok('>'),
            "amp" => Ok('&'),
            "quot" => Ok('"'),
            "apos" => Ok('\''),
            _ => reference.resolve_char_ref().ok().flatten().ok_or_else(unknown),
        }
    }

    /// Refuses encodings other than UTF-8, unless every byte is ASCII: there they all agree.
    fn check_encoding(&self, declaration: &BytesDecl<'_>) -> Result<(), DecodeError> {
        match declaration.encoding() {
            Some(Ok(name)) if !self.ascii && !name.eq_ignore_ascii_case("UTF-8") => {
                Err(self.error(DecodeProblem::Encoding(quoted(&name))))
            }
            _ => Ok(()),
        }
    }
}
