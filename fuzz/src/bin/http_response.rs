//! Answers of one connection: however the bytes are cut, the same answers come of them, within the bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_fuzz::pieces;
use runnel_ros1::http::{Response, ResponseError, ResponseParser};

const MAX_BODY: usize = 4096;

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Response>, ResponseError> {
    let mut parser = ResponseParser::new(MAX_BODY);
    let mut answers = Vec::new();
    for piece in pieces {
        parser.push(piece);
        while let Some(answer) = parser.step()? {
            answers.push(answer);
        }
    }
    answers.extend(parser.finish()?);
    Ok(answers)
}

fuzz_target!(|data: &[u8]| {
    let whole = read([data.get(1..).unwrap_or_default()]);
    let cut = read(pieces(data));
    if let Ok(answers) = &whole {
        assert!(answers.iter().all(|answer| answer.body.len() <= MAX_BODY));
    }
    assert_eq!(cut.ok(), whole.ok());
});
