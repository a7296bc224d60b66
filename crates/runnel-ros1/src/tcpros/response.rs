//! Responses of services: whether the call succeeded, then a length-led piece.

use super::{AcceptedLength, FrameError, FrameReader, IncompleteFrame, LENGTH, frame};

/// Appends a service's response to `out`: whether it succeeded, then the response or, if it did not, why.
pub fn response(out: &mut Vec<u8>, succeeded: bool, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(u8::from(succeeded));
    frame(out, write);
}

/// What goes before a service's response of so many bytes, or before why there is none.
pub fn response_head(succeeded: bool, bytes: usize) -> [u8; 1 + LENGTH] {
    let [a, b, c, d] = (bytes as u32).to_le_bytes();
    [u8::from(succeeded), a, b, c, d]
}

/// Cuts a service's responses from what comes on its connection.
#[derive(Debug)]
pub struct ResponseReader {
    accepted: AcceptedLength,
    limit: usize,
    succeeded: Option<bool>,
    body: FrameReader,
}

/// What a service answered: the response, or why there is none.
pub type Response = Result<Vec<u8>, String>;

impl ResponseReader {
    /// A reader that accepts responses of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self::of_type(None, limit)
    }

    /// A reader of responses of a type that has a fixed size, if it has; all else is at most `limit` bytes long.
    pub fn of_type(fixed: Option<usize>, limit: usize) -> Self {
        let accepted = AcceptedLength::of_type(fixed, limit);
        Self { accepted, limit, succeeded: None, body: FrameReader::new(limit) }
    }

    /// The response of which some bytes have not arrived, once its length has.
    pub fn incomplete(&self) -> Option<IncompleteFrame> {
        self.body.incomplete()
    }

    /// Takes from `input` as far as the end of the next response, which it gives if it is whole by then.
    ///
    /// # Errors
    /// When a length is not accepted, or memory is short; the stream is then of no use any more.
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

/// Bytes as text, with replacement characters for those that are none, of which each takes more than a byte.
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
    fn fixed_size_holds_for_success_only() {
        let mut stream = Vec::new();
        response(&mut stream, false, |out| out.extend_from_slice(b"longer than a byte"));
        response(&mut stream, true, |out| out.push(1));
        response(&mut stream, true, |out| out.extend_from_slice(b"no"));
        let (mut reader, mut input) = (ResponseReader::of_type(Some(1), 100), &stream[..]);
        assert_eq!(reader.take(&mut input), Ok(Some(Err("longer than a byte".into()))));
        assert_eq!(reader.take(&mut input), Ok(Some(Ok(vec![1]))));
        assert_eq!(reader.take(&mut input), Err(FrameError::WrongLength { announced: 2, fixed: 1 }));
    }

    #[test]
    fn responses_are_cut_wherever_the_bytes_are_split() {
        let mut stream = Vec::new();
        response(&mut stream, true, |out| out.extend_from_slice(b"three"));
        response(&mut stream, false, |out| out.extend_from_slice(b"no"));
        response(&mut stream, true, |_| ());
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
