//! Requests of one connection: however the bytes are cut, the same requests come of them, within the bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_fuzz::pieces;
use runnel_ros1::http::{Request, RequestError, RequestParser, RequestStep};

const MAX_BODY: usize = 4096;

/// The requests until the bytes or the patience of the parser end.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Request>, Option<RequestError>) {
    let mut parser = RequestParser::new(MAX_BODY);
    let mut requests = Vec::new();
    for piece in pieces {
        parser.push(piece);
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
    let whole = data.get(1..).unwrap_or_default();
    let (requests, error) = read([whole]);
    assert!(requests.iter().all(|request| request.body.len() <= MAX_BODY));
    let (cut_requests, cut_error) = read(pieces(data));
    assert_eq!(cut_requests, requests);
    assert_eq!(cut_error.is_some(), error.is_some(), "{cut_error:?} when cut, {error:?} when whole");
});
