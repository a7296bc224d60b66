//! HTTP responses of one connection: the result does not depend on how the bytes are split, and has bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_fuzz::chunks;
use runnel_ros1::http::{Response, ResponseError, ResponseParser};

const MAX_BODY: usize = 4096;

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Response>, ResponseError> {
    let mut parser = ResponseParser::new(MAX_BODY);
    let mut responses = Vec::new();
    for chunk in chunks {
        parser.push(chunk);
        while let Some(response) = parser.step()? {
            responses.push(response);
        }
    }
    responses.extend(parser.finish()?);
    Ok(responses)
}

fuzz_target!(|data: &[u8]| {
    let unsplit = read([data.get(1..).unwrap_or_default()]);
    let split = read(chunks(data));
    if let Ok(responses) = &unsplit {
        assert!(responses.iter().all(|response| response.body.len() <= MAX_BODY));
    }
    assert_eq!(split.ok(), unsplit.ok());
});
