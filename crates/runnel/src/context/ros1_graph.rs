//! Identity of a ROS 1 graph, by which bridges and dual nodes recognize that they are in the same one.

use std::time::Duration;

use runnel_core::names::clean_namespace;
use runnel_io::host;
use runnel_ros1::rpc::Uri;

use super::Context;

/// How long the master may take to answer.
const DEADLINE: Duration = Duration::from_secs(1);

impl Context {
    /// The number of the master's graph; `None` if the master does not answer. For Runnel's own programs.
    ///
    /// It follows from the address that the master gives itself. An address of loopback is only reached from the same network
    /// stack, whatever its hosts are named.
    #[doc(hidden)]
    pub fn ros1_graph(&self, caller: &str) -> Option<u64> {
        let caller = clean_namespace(caller);
        let answer = self.call_master("getUri", &[caller.as_str().into()], DEADLINE).ok()?;
        let uri = answer.as_array()?.get(2)?.as_str()?.to_owned();
        Some(number(&uri, &host::loopback_identity()))
    }
}

fn number(uri: &str, host: &str) -> u64 {
    let of_host = Uri::parse(uri).is_ok_and(|uri| is_loopback(&uri.to_string()));
    let text = if of_host { format!("{host} {uri}") } else { uri.to_owned() };
    // FNV-1a: both bridges must compute the same, whichever version they are.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn is_loopback(uri: &str) -> bool {
    ["://localhost", "://127.", "://[::1]"].iter().any(|start| uri.contains(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_of_loopback_differ_by_network() {
        let local = "http://localhost:11311/";
        assert_ne!(number(local, "a"), number(local, "b"));
        assert_eq!(number("http://robot:11311/", "a"), number("http://robot:11311/", "b"));
        assert_ne!(number("http://robot:11311/", "a"), number("http://robot:11312/", "a"));
    }
}
