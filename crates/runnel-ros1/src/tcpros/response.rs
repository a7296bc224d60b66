//! Service responses: a success byte, then a body after its length.

use super::{AcceptedLength, FrameError, FrameReader, IncompleteFrame, LENGTH, frame};

/// Appends a service response to `out`: the success byte, then the response or, on failure, the reason.
pub fn append_response(out: &mut Vec<u8>, succeeded: bool, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(u8::from(succeeded));
    frame(out, write);
}

/// The bytes before a service response of `bytes` bytes, or before the reason of a failure.
pub fn response_prefix(succeeded: bool, bytes: usize) -> [u8; 1 + LENGTH] {
    let [a, b, c, d] = (bytes as u32).to_le_bytes();
    [u8::from(succeeded), a, b, c, d]
}

/// Splits the stream of a service connection into responses.
#[derive(Debug)]
pub struct ResponseReader {
    accepted: AcceptedLength,
    limit: usize,
    succeeded: Option<bool>,
    body: FrameReader,
}

/// A service response, or the reason of its failure.
pub type Response = Result<Vec<u8>, String>;

impl ResponseReader {
    /// A reader that accepts responses of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self::of_type(None, limit)
    }

    /// A reader of responses whose type has a fixed size, if `fixed` is set; any other response has at most `limit`
    /// bytes.
    pub fn of_type(fixed: Option<usize>, limit: usize) -> Self {
        let accepted = AcceptedLength::of_type(fixed, limit);
        Self { accepted, limit, succeeded: None, body: FrameReader::new(limit) }
    }

    /// The response that has partly arrived, once its length is known.
    pub fn incomplete(&self) -> Option<IncompleteFrame> {
        self.body.incomplete()
    }

    /// Consumes `input` up to the end of the next response, and returns it if it is complete.
    ///
    /// # Errors
    /// If a length is not accepted, or memory is short. The stream cannot be read further.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<Option<Response>, FrameError> {
        let succeeded = match self.succeeded {
            Some(succeeded) => succeeded,
            None => {
                let Some((first, rest)) = input.split_first() else { return Ok(None) };
                *input = rest;
                let succeeded = *first != 0;
                // The reason of a failure is text of any length.
                let text = AcceptedLength::AtMost(self.limit);
                self.body.accept(if succeeded { self.accepted } else { text });
                *self.succeeded.insert(succeeded)
            }
        };
        let Some(body) = self.body.take(input, Vec::new)? else { return Ok(None) };
        self.succeeded = None;
        Ok(Some(if succeeded { Ok(body) } else { Err(text(body)?) }))
    }
}

/// Decodes text. Invalid bytes become replacement characters, each longer than one byte.
fn text(bytes: Vec<u8>) -> Result<String, FrameError> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error.into_bytes(),
    };
    let (length, arrived) = (bytes.len(), bytes.len());
    let mut text = String::new();
    let most = length.saturating_mul(char::REPLACEMENT_CHARACTER.len_utf8());
    text.try_reserve_exact(most).map_err(|_| FrameError::NoMemory { length, arrived })?;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend((!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_size_applies_to_success_only() {
        let mut stream = Vec::new();
        append_response(&mut stream, false, |out| out.extend_from_slice(b"longer than a byte"));
        append_response(&mut stream, true, |out| out.push(1));
        append_response(&mut stream, true, |out| out.extend_from_slice(b"no"));
        let (mut reader, mut input) = (ResponseReader::of_type(Some(1), 100), &stream[..]);
        assert_eq!(reader.take(&mut input), Ok(Some(Err("longer than a byte".into()))));
        assert_eq!(reader.take(&mut input), Ok(Some(Ok(vec![1]))));
        assert_eq!(reader.take(&mut input), Err(FrameError::WrongLength { announced: 2, fixed: 1 }));
    }

    #[test]
    fn responses_parse_in_any_pieces() {
        let mut stream = Vec::new();
        append_response(&mut stream, true, |out| out.extend_from_slice(b"three"));
        append_response(&mut stream, false, |out| out.extend_from_slice(b"no"));
        append_response(&mut stream, true, |_| ());
        for step in 1..=stream.len() {
            let (mut reader, mut responses) = (ResponseReader::new(100), Vec::new());
            for mut part in stream.chunks(step) {
                while !part.is_empty() {
                    responses.extend(reader.take(&mut part).unwrap());
                }
            }
            assert_eq!(responses, [Ok(b"three".to_vec()), Err("no".into()), Ok(Vec::new())], "step {step}");
        }
    }
}
