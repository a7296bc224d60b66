//! Events of a text with aliases resolved.

use super::de::ReadError;
use super::{Place, indentation};
use crate::dynamic::MAX_MEMORY;
use crate::yaml::{MAX_BRACKETS, YamlErrorKind};
use saphyr_parser::{Event as Parsed, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The beginning or the end of a node, and its position.
#[derive(Clone, Debug)]
pub(crate) struct Event<'t> {
    pub(super) kind: EventKind<'t>,
    pub(super) tag: Option<Arc<str>>,
    pub(super) place: Place,
}

#[derive(Clone, Debug)]
pub(super) enum EventKind<'t> {
    /// A value that is neither list nor mapping. Plain text is neither quoted nor in a block.
    Scalar {
        text: Cow<'t, str>,
        is_plain: bool,
    },
    List,
    Mapping,
    /// The end of a list or mapping.
    End,
    /// A repeated node, by the number of its anchor.
    Alias(usize),
}

/// The events of a text.
pub(crate) struct Events<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// The next event, if it was peeked.
    ahead: Option<Event<'t>>,
    /// Nesting depth of the reader.
    depth: usize,
    /// Nesting depth of the parser.
    parsed_depth: usize,
    /// The anchored nodes that the parser is in, outermost first.
    open: Vec<Recording<'t>>,
    /// The events of anchored nodes by the number of the anchor.
    anchored: BTreeMap<usize, Arc<[Event<'t>]>>,
    /// Unread events of expanded aliases, innermost last.
    repeats: Vec<Repeat<'t>>,
    /// Remaining memory for anchored and repeated events, in bytes.
    left: usize,
}

/// An anchored node while it is parsed.
struct Recording<'t> {
    anchor: usize,
    /// Number of enclosing lists and mappings.
    depth: usize,
    events: Vec<Event<'t>>,
}

struct Repeat<'t> {
    events: Arc<[Event<'t>]>,
    next: usize,
}

impl<'t> Events<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            parser: Parser::new_from_str(text),
            ahead: None,
            depth: 0,
            parsed_depth: 0,
            open: Vec::new(),
            anchored: BTreeMap::new(),
            repeats: Vec::new(),
            left: MAX_MEMORY,
        }
    }

    /// Advances to the next document; false at the end.
    pub(crate) fn next_document(&mut self) -> Result<bool, ReadError> {
        self.anchored.clear();
        loop {
            match self.parser.next_event() {
                None | Some(Ok((Parsed::StreamEnd, _))) => return Ok(false),
                Some(Ok((Parsed::DocumentStart(_), _))) => return Ok(true),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(syntax(&error)),
            }
        }
    }

    /// The next event, which is no alias.
    pub(crate) fn next(&mut self) -> Result<Event<'t>, ReadError> {
        match self.ahead.take() {
            Some(event) => Ok(event),
            None => self.resolved(),
        }
    }

    /// Whether the list or mapping that the reader is in ends here, which is then passed.
    pub(super) fn take_end(&mut self) -> Result<bool, ReadError> {
        let event = self.next()?;
        if matches!(event.kind, EventKind::End) {
            return Ok(true);
        }
        self.ahead = Some(event);
        Ok(false)
    }

    /// Skips a node, without expanding its aliases.
    pub(super) fn skip(&mut self) -> Result<(), ReadError> {
        let first = self.next()?;
        if matches!(first.kind, EventKind::List | EventKind::Mapping) {
            self.skip_rest()?;
        }
        Ok(())
    }

    /// Passes the rest of the list or mapping that the reader is in.
    pub(super) fn skip_rest(&mut self) -> Result<(), ReadError> {
        let mut open = 1;
        if let Some(event) = self.ahead.take() {
            match event.kind {
                EventKind::List | EventKind::Mapping => open += 1,
                EventKind::End => open -= 1,
                EventKind::Scalar { .. } | EventKind::Alias(_) => {}
            }
        }
        while open > 0 {
            match self.unresolved()?.kind {
                EventKind::List | EventKind::Mapping => open += 1,
                EventKind::End => open -= 1,
                EventKind::Scalar { .. } | EventKind::Alias(_) => {}
            }
        }
        Ok(())
    }

    /// The next event; an alias is replaced by the first event of its node.
    fn resolved(&mut self) -> Result<Event<'t>, ReadError> {
        loop {
            let event = self.unresolved()?;
            match event.kind {
                EventKind::Alias(anchor) => self.repeat(anchor, event.place)?,
                _ => return Ok(event),
            }
        }
    }

    fn repeat(&mut self, anchor: usize, place: Place) -> Result<(), ReadError> {
        let Some(events) = self.anchored.get(&anchor) else {
            return Err(ReadError::syntax("a node contains an alias of itself", place));
        };
        let events = Arc::clone(events);
        self.repeats.retain(|repeat| repeat.next < repeat.events.len());
        self.repeats.push(Repeat { events, next: 0 });
        Ok(())
    }

    fn unresolved(&mut self) -> Result<Event<'t>, ReadError> {
        while let Some(repeat) = self.repeats.last_mut() {
            if let Some(event) = repeat.events.get(repeat.next) {
                repeat.next += 1;
                let event = event.clone();
                self.take_memory(&event)?;
                self.count_depth(&event)?;
                return Ok(event);
            }
            self.repeats.pop();
        }
        let event = self.parsed()?;
        self.count_depth(&event)?;
        Ok(event)
    }

    /// Counts a list or mapping that begins or ends.
    fn count_depth(&mut self, event: &Event<'t>) -> Result<(), ReadError> {
        match event.kind {
            EventKind::List | EventKind::Mapping if self.depth == MAX_BRACKETS => {
                return Err(ReadError::of(YamlErrorKind::TooDeep, event.place));
            }
            EventKind::List | EventKind::Mapping => self.depth += 1,
            EventKind::End => self.depth = self.depth.saturating_sub(1),
            EventKind::Scalar { .. } | EventKind::Alias(_) => {}
        }
        Ok(())
    }

    /// The next event of the parser; recorded by enclosing anchored nodes.
    fn parsed(&mut self) -> Result<Event<'t>, ReadError> {
        let (parsed, span) = match self.parser.next_event() {
            Some(parsed) => parsed.map_err(|error| syntax(&error))?,
            None => return Err(ReadError::syntax("the text ends too early", (1, 1))),
        };
        let (event, anchor) = event(parsed, span)?;
        if anchor > 0 {
            self.open.push(Recording { anchor, depth: self.parsed_depth, events: Vec::new() });
        }
        for _ in 0..self.open.len() {
            self.take_memory(&event)?;
        }
        self.open.iter_mut().for_each(|recording| recording.events.push(event.clone()));
        match event.kind {
            EventKind::List | EventKind::Mapping => {
                self.parsed_depth += 1;
                return Ok(event);
            }
            EventKind::End => self.parsed_depth = self.parsed_depth.saturating_sub(1),
            EventKind::Scalar { .. } | EventKind::Alias(_) => {}
        }
        let ends = |recording: &mut Recording<'t>| recording.depth == self.parsed_depth;
        while let Some(recording) = self.open.pop_if(ends) {
            self.anchored.insert(recording.anchor, recording.events.into());
        }
        Ok(event)
    }

    fn take_memory(&mut self, event: &Event<'t>) -> Result<(), ReadError> {
        let text = if let EventKind::Scalar { text, .. } = &event.kind { text.len() } else { 0 };
        self.take_bytes(size_of::<Event<'t>>() + text).map_err(|error| error.within(event.place))
    }

    /// Counts memory of this many bytes.
    pub(super) fn take_bytes(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.left = self.left.checked_sub(bytes).ok_or(ReadError::TOO_LARGE)?;
        Ok(())
    }
}

/// The parser's event, and the number of the node's anchor or 0.
fn event(parsed: Parsed<'_>, span: Span) -> Result<(Event<'_>, usize), ReadError> {
    let place = place(&span.start);
    let (kind, anchor, tag) = match parsed {
        Parsed::Scalar(text, style, anchor, tag) => {
            let is_plain = style == ScalarStyle::Plain;
            (EventKind::Scalar { text, is_plain }, anchor, tag)
        }
        Parsed::SequenceStart(anchor, tag) => (EventKind::List, anchor, tag),
        Parsed::MappingStart(anchor, tag) => (EventKind::Mapping, anchor, tag),
        Parsed::SequenceEnd | Parsed::MappingEnd => (EventKind::End, 0, None),
        Parsed::Alias(anchor) => (EventKind::Alias(anchor), 0, None),
        _ => return Err(ReadError::syntax("the document ends too early", place)),
    };
    Ok((Event { kind, tag: tag.map(|tag| tag_name(&tag)), place }, anchor))
}

/// A tag as written: `!!str`, `!degrees`.
fn tag_name(tag: &Tag) -> Arc<str> {
    match tag.is_yaml_core_schema() {
        true => format!("!!{}", tag.suffix).into(),
        false => format!("{}{}", tag.handle, tag.suffix).into(),
    }
}

fn place(marker: &saphyr_parser::Marker) -> Place {
    (marker.line(), marker.col() + 1)
}

fn syntax(error: &ScanError) -> ReadError {
    let marker = error.marker();
    let refused_quote = (error.info() == indentation::REASON).then(|| (marker.index(), marker.col()));
    ReadError { refused_quote, ..ReadError::syntax(error.info(), place(marker)) }
}
