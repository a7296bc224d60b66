//! Header fields by which two processes of one host set up shared memory. Other implementations ignore them.
//!
//! ```text
//! subscriber ─► runnel_process=<of the subscriber> runnel_link=<token> runnel_delivery=1 ─► publisher
//! subscriber ◄─ runnel_process=<of the publisher> runnel_delivery=1                      ◄─ publisher
//! ```
//! [`runnel_core::local_peer`] defines the first two. If both ends of a topic's link send `runnel_delivery=1`, they
//! put statements about the path of messages between messages; otherwise the link stays on the network. Nodes in both
//! graphs send it even if they announce no process.

use md5::{Digest, Md5};
use runnel_core::local_peer::{LocalIdentity, LocalPeerId};

use super::Node;
use crate::header::ConnectionHeader;

const PROCESS: &str = "runnel_process";
const LINK: &str = "runnel_link";
const DELIVERY: &str = "runnel_delivery";

/// Announces that the node understands statements between messages.
pub(super) fn announce_statements(header: &mut ConnectionHeader) {
    header.push(DELIVERY, "1");
}

/// Whether the sender of the header understands statements.
pub(super) fn has_statements(header: &ConnectionHeader) -> bool {
    header.get(DELIVERY) == Some("1")
}

/// The link's id in statements: derived from its token if it has one.
pub(super) fn delivery_id(token: Option<u128>) -> u64 {
    token.map_or(0, |token| token as u64)
}

/// The link's id in statements from a subscriber's header, if the subscriber understands them.
pub(super) fn announced_delivery_id(header: &ConnectionHeader) -> Option<u64> {
    has_statements(header).then(|| delivery_id(header.get(LINK).and_then(unhex)))
}

/// The token of the link with this number, which is used once.
fn token(identity: &LocalIdentity, link: u64) -> u128 {
    let [secret, link] = [identity.secret, u128::from(link)].map(u128::to_le_bytes);
    u128::from_le_bytes(Md5::digest([secret, link].concat()).into())
}

/// Announces this process, and the token of one link.
fn announce(identity: &LocalIdentity, header: &mut ConnectionHeader, token: Option<u128>) {
    header.push(PROCESS, &hex(identity.process));
    token.into_iter().for_each(|token| header.push(LINK, &hex(token)));
}

/// The process id in a header, if it has one.
fn process_of(header: &ConnectionHeader) -> Option<u128> {
    unhex(header.get(PROCESS)?)
}

/// The peer's identity in the header of a subscriber or client.
pub(super) fn requested_peer(header: &ConnectionHeader) -> Option<LocalPeerId> {
    Some(LocalPeerId { process: process_of(header)?, token: unhex(header.get(LINK)?)? })
}

/// The peer's identity in the answer of a peer that got `token`.
pub(super) fn answered_peer(header: &ConnectionHeader, token: Option<u128>) -> Option<LocalPeerId> {
    Some(LocalPeerId { process: process_of(header)?, token: token? })
}

impl Node {
    /// Announces this process in a header to a publisher or service, with a new token.
    pub(super) fn announce_process(&mut self, header: &mut ConnectionHeader) -> Option<u128> {
        let identity = self.config.same_host.as_ref()?;
        self.last_token += 1;
        let token = token(identity, self.last_token);
        announce(identity, header, Some(token));
        Some(token)
    }

    /// Announces this process in the answer to a subscriber or client that has announced its own.
    pub(super) fn answer_process(
        &self,
        requested: Option<LocalPeerId>,
        reply: &mut ConnectionHeader,
    ) -> Option<LocalPeerId> {
        let identity = self.config.same_host.as_ref()?;
        requested.inspect(|_| announce(identity, reply, None))
    }
}

fn hex(number: u128) -> String {
    format!("{number:032x}")
}

/// Parses 32 hex digits. Other text is ignored: the link stays on the network.
fn unhex(text: &str) -> Option<u128> {
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_fields_parse_back() {
        let mine = LocalIdentity { process: 7, secret: 1 };
        let mut header = ConnectionHeader::new([("topic", "/a")]);
        assert_eq!(requested_peer(&header), None);
        announce(&mine, &mut header, None);
        assert_eq!((process_of(&header), requested_peer(&header)), (Some(7), None));
        let mut header = ConnectionHeader::new([]);
        announce(&mine, &mut header, Some(9));
        assert_eq!(requested_peer(&header), Some(LocalPeerId { process: 7, token: 9 }));
        assert_eq!(header.get("runnel_process"), Some("00000000000000000000000000000007"));
        assert_eq!(header.get("runnel_link"), Some("00000000000000000000000000000009"));
    }

    #[test]
    fn tokens_differ_by_link_and_secret() {
        let tokens = [(1, 1), (1, 2), (2, 1)];
        let [a, b, c] = tokens.map(|(secret, link)| token(&LocalIdentity { process: 0, secret }, link));
        assert!(a != b && a != c && b != c);
        assert_eq!(a, token(&LocalIdentity { process: 5, secret: 1 }, 1));
    }

    #[test]
    fn malformed_process_id_is_ignored() {
        for text in
            ["", "7", "+0000000000000000000000000000007", "0000000000000000000000000000000g", &"0".repeat(33)]
        {
            let header = ConnectionHeader::new([(PROCESS, text)]);
            assert_eq!(process_of(&header), None, "{text}");
        }
    }
}
