//! HTTP requests of one connection: the result does not depend on how the bytes are split, and has bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_fuzz::chunks;
use runnel_ros1::http::{Request, RequestError, RequestParser, RequestStep};

const MAX_BODY: usize = 4096;

/// The requests until the input ends or an error occurs.
fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Request>, Option<RequestError>) {
    let mut parser = RequestParser::new(MAX_BODY);
    let mut requests = Vec::new();
    for chunk in chunks {
        parser.push(chunk);
        loop {
            match parser.step() {
                Ok(RequestStep::Whole(request)) => requests.push(request),
                Ok(RequestStep::Continue) => {}
                Ok(RequestStep::Incomplete) => break,
                Err(error) => return (requests, Some(error)),
            }
        }
    }
    (requests, None)
}

fuzz_target!(|data: &[u8]| {
    let stream = data.get(1..).unwrap_or_default();
    let (requests, error) = read([stream]);
    assert!(requests.iter().all(|request| request.body.len() <= MAX_BODY));
    let (split_requests, split_error) = read(chunks(data));
    assert_eq!(split_requests, requests);
    assert_eq!(split_error.is_some(), error.is_some(), "{split_error:?} if split, {error:?} if not");
});
