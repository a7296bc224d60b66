//! Addresses of XML-RPC servers.

use core::fmt;
use std::net::Ipv6Addr;

use crate::net::Endpoint;

/// Longest URI that is accepted, in bytes.
pub const MAX_URI: usize = 1024;

/// Longest host name that is accepted, in bytes: the limit of DNS.
pub const MAX_HOST: usize = 253;

/// The address of an XML-RPC server: `http://host:port/path`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri {
    /// Host and port.
    pub endpoint: Endpoint,
    /// The path; `/` if the URI has none.
    pub path: String,
}

impl Uri {
    /// Parses `http://host:port/path`. The path may be missing, the port may not.
    ///
    /// # Errors
    /// On anything else; see [`UriProblem`].
    pub fn parse(text: &str) -> Result<Self, UriError> {
        Self::parse_scheme("http", text)
    }

    /// Parses a URI of another scheme, such as the `rosrpc://host:port` of a service.
    ///
    /// # Errors
    /// On anything else; see [`UriProblem`].
    pub fn parse_scheme(scheme: &'static str, text: &str) -> Result<Self, UriError> {
        parse(scheme, text).map_err(|problem| UriError { text: text.chars().take(80).collect(), problem })
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.endpoint, self.path)
    }
}

/// A text that is not a valid URI of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriError {
    /// The text, or its beginning if it is long.
    pub text: String,
    /// The kind of error.
    pub problem: UriProblem,
}

/// Error of a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriProblem {
    /// Longer than [`MAX_URI`].
    TooLong,
    /// It does not begin with this scheme and `://`.
    Scheme(&'static str),
    /// The host is missing, longer than [`MAX_HOST`], or has invalid characters.
    Host,
    /// The port is missing or not a number from 1 to 65535.
    Port,
    /// The path has white space, control characters or non-ASCII letters.
    Path,
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a valid address: ", self.text)?;
        match self.problem {
            UriProblem::TooLong => write!(f, "longer than {MAX_URI} bytes"),
            UriProblem::Scheme(scheme) => write!(f, "it does not begin with {scheme}://"),
            UriProblem::Host => f.write_str("its host is missing or invalid"),
            UriProblem::Port => f.write_str("its port is not a number from 1 to 65535"),
            UriProblem::Path => f.write_str("its path has characters that must be escaped"),
        }
    }
}

impl core::error::Error for UriError {}

fn parse(scheme: &'static str, text: &str) -> Result<Uri, UriProblem> {
    if text.len() > MAX_URI {
        return Err(UriProblem::TooLong);
    }
    let rest = after_scheme(scheme, text).ok_or(UriProblem::Scheme(scheme))?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(UriProblem::Path);
    }
    let endpoint = endpoint(authority)?;
    Ok(Uri { endpoint, path: path.to_owned() })
}

fn after_scheme<'a>(scheme: &str, text: &'a str) -> Option<&'a str> {
    let (found, rest) = text.split_once("://")?;
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn endpoint(authority: &str) -> Result<Endpoint, UriProblem> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => bracketed(rest)?,
        None => named(authority)?,
    };
    Ok(Endpoint { host: host.to_owned(), port: port_number(port).ok_or(UriProblem::Port)? })
}

/// A port other than 0, written in digits only.
fn port_number(digits: &str) -> Option<u16> {
    let digits = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|port| *port > 0)
}

/// Splits a host name or IPv4 address from its port. rospy announces an IPv6 address without brackets.
fn named(authority: &str) -> Result<(&str, &str), UriProblem> {
    if let Some((host, port)) = authority.rsplit_once(':')
        && host.contains(':')
        && host.parse::<Ipv6Addr>().is_ok()
    {
        return Ok((host, port));
    }
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    if is_name(host) { Ok((host, port)) } else { Err(UriProblem::Host) }
}

/// Whether a host name has only letters, digits, dots, hyphens and underscores (which robots' names do have), within
/// the bound.
fn is_name(text: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (1..=MAX_HOST).contains(&text.len()) && text.bytes().all(is_valid)
}

/// Splits an IPv6 address, with an optional zone (`%eth0`), from the port after bracket and colon.
fn bracketed(rest: &str) -> Result<(&str, &str), UriProblem> {
    let (host, port) = rest.split_once(']').ok_or(UriProblem::Host)?;
    let (address, zone) = host.split_once('%').unwrap_or((host, "0"));
    if address.parse::<Ipv6Addr>().is_err() || !is_name(zone) {
        return Err(UriProblem::Host);
    }
    Ok((host, port.strip_prefix(':').unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, u16, String) {
        let uri = Uri::parse(text).expect("an address");
        (uri.endpoint.host, uri.endpoint.port, uri.path)
    }

    fn problem(text: &str) -> UriProblem {
        Uri::parse(text).expect_err("refused").problem
    }

    #[test]
    fn uris_of_roscpp_and_rospy_are_parsed() {
        assert_eq!(parts("http://robot_1.local:11311/"), ("robot_1.local".into(), 11311, "/".into()));
        assert_eq!(parts("http://127.0.0.1:80"), ("127.0.0.1".into(), 80, "/".into()));
        assert_eq!(parts("HTTP://a:65535/RPC2?x"), ("a".into(), 65535, "/RPC2?x".into()));
        assert_eq!(parts("http://[::1]:1/"), ("::1".into(), 1, "/".into()));
        assert_eq!(parts("http://[fe80::1%eth0]:1/"), ("fe80::1%eth0".into(), 1, "/".into()));
        assert_eq!(parts("http://::1:40000/"), ("::1".into(), 40000, "/".into()));
    }

    #[test]
    fn uri_text_round_trips() {
        for text in ["http://a:1/", "http://[::1]:11311/RPC2"] {
            assert_eq!(Uri::parse(text).expect("an address").to_string(), text);
        }
    }

    #[test]
    fn service_scheme_is_parsed_on_request() {
        let uri = Uri::parse_scheme("rosrpc", "rosrpc://a:4242").expect("an address");
        assert_eq!(uri.endpoint, Endpoint { host: "a".into(), port: 4242 });
        assert_eq!(problem("rosrpc://a:4242"), UriProblem::Scheme("http"));
    }

    #[test]
    fn invalid_uri_is_refused_with_reason() {
        for text in ["", "a:1", "https://a:1", "http:/a:1"] {
            assert_eq!(problem(text), UriProblem::Scheme("http"), "{text}");
        }
        for text in [
            "http://",
            "http://:1",
            "http://a b:1",
            "http://u@a:1",
            "http://\u{e9}:1",
            "http://[::1:1",
            "http://[a]:1",
            "http://[]:1",
            "http://[::1%]:1",
            "http://a\r\nX: y:1",
        ] {
            assert_eq!(problem(text), UriProblem::Host, "{text}");
        }
        for text in [
            "http://a",
            "http://a/",
            "http://a:",
            "http://a:0",
            "http://a:65536",
            "http://a:+1",
            "http://a:1:2",
            "http://[::1]",
            "http://[::1]1",
            "http://a:1?x",
        ] {
            assert_eq!(problem(text), UriProblem::Port, "{text}");
        }
        assert_eq!(problem("http://a:1/b c"), UriProblem::Path);
        assert_eq!(problem("http://a:1/\r\nX: y"), UriProblem::Path);
    }

    #[test]
    fn uri_length_is_bounded() {
        let host = |length: usize| format!("http://{}:1/", "a".repeat(length));
        assert!(Uri::parse(&host(MAX_HOST)).is_ok());
        assert_eq!(problem(&host(MAX_HOST + 1)), UriProblem::Host);
        assert_eq!(problem(&host(MAX_URI)), UriProblem::TooLong);
        assert!(Uri::parse(&host(MAX_URI)).expect_err("refused").to_string().len() < 200);
    }

    proptest::proptest! {
        #[test]
        fn uri_parser_never_panics(text: String) {
            let _ = (Uri::parse(&text), Uri::parse(&format!("http://{text}")), Uri::parse(&format!("http://[{text}")));
        }
    }
}
