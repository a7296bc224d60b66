//! Responses of services: whether the call succeeded, then a length-led piece.

use super::{FrameError, FrameReader, frame};

/// Appends a service's response to `out`: whether it succeeded, then the response or, if it did not, why.
pub fn response(out: &mut Vec<u8>, succeeded: bool, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(u8::from(succeeded));
    frame(out, write);
}

/// Cuts a service's responses from what comes on its connection.
#[derive(Debug)]
pub struct ResponseReader {
    succeeded: Option<bool>,
    body: FrameReader,
}

/// What a service answered: the response, or why there is none.
pub type Response = Result<Vec<u8>, String>;

impl ResponseReader {
    /// A reader that accepts responses of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { succeeded: None, body: FrameReader::new(limit) }
    }

    /// Takes from `input` as far as the end of the next response, which it gives if it is whole by then.
    ///
    /// # Errors
    /// When a length goes beyond the limit, or memory is short; the stream is then of no use any more.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<Option<Response>, FrameError> {
        let succeeded = match self.succeeded {
            Some(succeeded) => succeeded,
            None => {
                let Some((first, rest)) = input.split_first() else { return Ok(None) };
                *input = rest;
                *self.succeeded.insert(*first != 0)
            }
        };
        let Some(body) = self.body.take(input, Vec::new)? else { return Ok(None) };
        self.succeeded = None;
        Ok(Some(if succeeded { Ok(body) } else { Err(String::from_utf8_lossy(&body).into_owned()) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
