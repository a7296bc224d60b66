//! Writing of requests and responses, in the form that roscpp reads.

/// Interim response to a client that waits for it before it sends its body.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A POST of a document, head and body together.
///
/// `host` is the `Host` field, such as `robot:11311`. Neither `host` nor `path` may hold white space or control
/// characters; a parsed URI never does. With `keep_open` false, the request asks the server to close after its
/// answer.
pub fn request(host: &str, path: &str, body: &[u8], keep_open: bool) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: runnel/{}\r\n{}",
        env!("CARGO_PKG_VERSION"),
        fields("text/xml", body, keep_open)
    );
    [head.as_bytes(), body].concat()
}

/// A response that carries a document, head and body together.
pub fn response(body: &[u8], keep_open: bool) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{}", fields("text/xml", body, keep_open));
    [head.as_bytes(), body].concat()
}

/// A response that refuses a request; the connection closes after it.
pub fn refusal(code: u16, reason: &str, why: &str) -> Vec<u8> {
    let allow = if code == 405 { "Allow: POST\r\n" } else { "" };
    let body = format!("{why}\n");
    format!("HTTP/1.1 {code} {reason}\r\n{allow}{}{body}", fields("text/plain", body.as_bytes(), false))
        .into_bytes()
}

/// The fields that describe the body, and the end of the head.
fn fields(kind: &str, body: &[u8], keep_open: bool) -> String {
    let close = if keep_open { "" } else { "Connection: close\r\n" };
    format!("Content-Type: {kind}\r\nContent-length: {}\r\n{close}\r\n", body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_has_fields_of_roscpp_and_rospy() {
        let expected = format!(
            "POST /RPC2 HTTP/1.1\r\nHost: [::1]:80\r\nUser-Agent: runnel/{}\r\nContent-Type: text/xml\r\n\
             Content-length: 2\r\n\r\nab",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(request("[::1]:80", "/RPC2", b"ab", true), expected.as_bytes());
    }

    #[test]
    fn response_is_accepted_by_roscpp() {
        let open = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-length: 2\r\n\r\nab";
        let last =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-length: 2\r\nConnection: close\r\n\r\nab";
        assert_eq!(response(b"ab", true), open);
        assert_eq!(response(b"ab", false), last);
    }

    #[test]
    fn refusal_gives_reason_and_closes() {
        let expected = "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Type: text/plain\r\n\
            Content-length: 4\r\nConnection: close\r\n\r\nwhy\n";
        assert_eq!(refusal(405, "Method Not Allowed", "why"), expected.as_bytes());
    }
}
