//! Documents as a sequence of tags with the text before each.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};

use super::error::{DecodeError, DecodeProblem, quoted};
use super::first_forbidden;
use super::tag::Tag;

/// A start or end tag, or the end of the document. `<a/>` comes as a start and an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    Open(Tag),
    Close(Tag),
    End,
}

/// The text before a tag, entities resolved, and the tag.
pub(super) struct Piece<'a> {
    pub text: Cow<'a, str>,
    pub markup: Markup,
}

/// Reads one document piece by piece. Comments and processing instructions are passed over.
pub(super) struct Lexer<'a> {
    reader: Reader<&'a [u8]>,
    open: Vec<Tag>,
    ascii: bool,
    /// The element that the last piece is in.
    inside: &'static str,
    /// Where the text of the last piece began, in bytes.
    text_offset: usize,
    /// Where the last event began, in bytes.
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

    /// The text up to the next tag, and that tag.
    pub fn next(&mut self) -> Result<Piece<'a>, DecodeError> {
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
                Event::Start(start) => return Ok(Piece { text, markup: self.start(&start)? }),
                Event::End(_) => return Ok(Piece { text, markup: self.end()? }),
                Event::Eof => return Ok(Piece { text, markup: Markup::End }),
                Event::DocType(_) => return Err(self.error(DecodeProblem::DocumentType)),
                Event::Decl(declaration) => self.check_encoding(&declaration)?,
                Event::Empty(_) | Event::Comment(_) | Event::PI(_) => {}
            }
        }
    }

    /// An error at the tag of the last piece.
    pub fn error(&self, problem: DecodeProblem) -> DecodeError {
        DecodeError { method: None, element: self.inside, offset: self.offset, problem }
    }

    /// An error at the text of the last piece.
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

    /// The parser has checked that the end tag names the innermost open element.
    fn end(&mut self) -> Result<Markup, DecodeError> {
        match self.open.pop() {
            Some(tag) => Ok(Markup::Close(tag)),
            None => Err(self.error(DecodeProblem::Xml("an end tag without its start".to_owned()))),
        }
    }

    /// The character of `&lt;`, `&#10;` and the like.
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

    /// Only UTF-8 is read; other encodings agree with it where every byte is ASCII.
    fn check_encoding(&self, declaration: &BytesDecl<'_>) -> Result<(), DecodeError> {
        match declaration.encoding() {
            Some(Ok(name)) if !self.ascii && !name.eq_ignore_ascii_case("UTF-8") => {
                Err(self.error(DecodeProblem::Encoding(quoted(&name))))
            }
            _ => Ok(()),
        }
    }
}
