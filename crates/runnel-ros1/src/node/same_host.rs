//! The fields of connection headers by which two processes of one host find a better way than the network. Nodes that do
//! not know them pass over them.
//!
//! ```text
//! subscriber ─► runnel_process=<of the subscriber> runnel_link=<token> runnel_delivery=1 ─► publisher
//! subscriber ◄─ runnel_process=<of the publisher> runnel_delivery=1                      ◄─ publisher
//! ```
//! What the first two hold is in [`runnel_core::local_peer`]. Where both ends of a topic's link say `runnel_delivery=1`, they
//! state by which path messages go, among these; without that the link stays on the network. Nodes of both graphs say so, too,
//! where processes of one host are not told.

use md5::{Digest, Md5};
use runnel_core::local_peer::{LocalIdentity, LocalPeerId};

use super::Node;
use crate::header::ConnectionHeader;

const PROCESS: &str = "runnel_process";
const LINK: &str = "runnel_link";
const DELIVERY: &str = "runnel_delivery";

/// Says that statements are understood among the messages of a topic's link.
pub(super) fn announce_statements(header: &mut ConnectionHeader) {
    header.push(DELIVERY, "1");
}

/// Whether the sender of the header says so.
pub(super) fn says_statements(header: &ConnectionHeader) -> bool {
    header.get(DELIVERY) == Some("1")
}

/// What statements name a link by whose token is this, if it has one.
pub(super) fn link_name(token: Option<u128>) -> u64 {
    token.map_or(0, |token| token as u64)
}

/// The same of the link of a subscriber, if it says that it understands statements.
pub(super) fn said_delivery(header: &ConnectionHeader) -> Option<u64> {
    says_statements(header).then(|| link_name(header.get(LINK).and_then(unhex)))
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

/// The process of whoever sent the header, if it says so.
fn process_of(header: &ConnectionHeader) -> Option<u128> {
    unhex(header.get(PROCESS)?)
}

/// Whom to meet, as a subscriber or client says.
pub(super) fn asked_to_meet(header: &ConnectionHeader) -> Option<LocalPeerId> {
    Some(LocalPeerId { process: process_of(header)?, token: unhex(header.get(LINK)?)? })
}

/// Whom to meet, as whoever was told `token` answers.
pub(super) fn answered(header: &ConnectionHeader, token: Option<u128>) -> Option<LocalPeerId> {
    Some(LocalPeerId { process: process_of(header)?, token: token? })
}

impl Node {
    /// Tells a publisher or service of this process in a header to it, with a token that is new.
    pub(super) fn tell_of_process(&mut self, header: &mut ConnectionHeader) -> Option<u128> {
        let identity = self.config.same_host.as_ref()?;
        self.last_token += 1;
        let token = token(identity, self.last_token);
        announce(identity, header, Some(token));
        Some(token)
    }

    /// Answers a subscriber or client that has told of its process.
    pub(super) fn answer_of_process(
        &self,
        asked: Option<LocalPeerId>,
        reply: &mut ConnectionHeader,
    ) -> Option<LocalPeerId> {
        let identity = self.config.same_host.as_ref()?;
        asked.inspect(|_| announce(identity, reply, None))
    }
}

fn hex(number: u128) -> String {
    format!("{number:032x}")
}

/// What is not 32 hex digits says nothing: the link stays on the network.
fn unhex(text: &str) -> Option<u128> {
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let mine = LocalIdentity { process: 7, secret: 1 };
        let mut header = ConnectionHeader::new([("topic", "/a")]);
        assert_eq!(asked_to_meet(&header), None);
        announce(&mine, &mut header, None);
        assert_eq!((process_of(&header), asked_to_meet(&header)), (Some(7), None));
        let mut header = ConnectionHeader::new([]);
        announce(&mine, &mut header, Some(9));
        assert_eq!(asked_to_meet(&header), Some(LocalPeerId { process: 7, token: 9 }));
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
    fn what_is_no_number_of_128_bits_says_nothing() {
        for text in
            ["", "7", "+0000000000000000000000000000007", "0000000000000000000000000000000g", &"0".repeat(33)]
        {
            let header = ConnectionHeader::new([(PROCESS, text)]);
            assert_eq!(process_of(&header), None, "{text}");
        }
    }
}
