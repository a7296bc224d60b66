//! The fields of connection headers by which two processes of one host find a better way than the network. Nodes that do
//! not know them pass over them.
//!
//! ```text
//! subscriber ─► runnel_process=<of the subscriber> runnel_link=<token> ─► publisher
//! subscriber ◄─ runnel_process=<of the publisher>                      ◄─ publisher
//! ```
//! A process is 128 random bits that are told nowhere else, so that only who has been told can find it. A token is told
//! on one connection only: who can repeat it elsewhere is that connection's other end.

use md5::{Digest, Md5};

use super::Node;
use crate::header::ConnectionHeader;

const PROCESS: &str = "runnel_process";
const LINK: &str = "runnel_link";

/// What a node tells others of its process, for those of the same host.
#[derive(Clone, Debug)]
pub struct SameHost {
    /// Where others meet it: random.
    pub process: u128,
    /// What its tokens are made of: random, told to nobody, and not the same for two nodes.
    pub secret: u128,
}

/// What the ends of one link have told each other for the case that both are of the same host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The process of the other end.
    pub process: u128,
    /// The link, as only its two ends know it.
    pub token: u128,
}

impl SameHost {
    /// The token of the link with this number, which is used once.
    pub(super) fn token(&self, link: u64) -> u128 {
        let [secret, link] = [self.secret, u128::from(link)].map(u128::to_le_bytes);
        u128::from_le_bytes(Md5::digest([secret, link].concat()).into())
    }

    /// Tells of this process and of one link.
    pub(super) fn tell(&self, header: &mut ConnectionHeader, token: Option<u128>) {
        header.push(PROCESS, &hex(self.process));
        token.into_iter().for_each(|token| header.push(LINK, &hex(token)));
    }
}

/// The process of whoever sent the header, if it says so.
pub(super) fn process_of(header: &ConnectionHeader) -> Option<u128> {
    unhex(header.get(PROCESS)?)
}

/// Whom to meet, as a subscriber or client says.
pub(super) fn asked_to_meet(header: &ConnectionHeader) -> Option<Meeting> {
    Some(Meeting { process: process_of(header)?, token: unhex(header.get(LINK)?)? })
}

/// Whom to meet, as whoever was told `token` answers.
pub(super) fn answered(header: &ConnectionHeader, token: Option<u128>) -> Option<Meeting> {
    Some(Meeting { process: process_of(header)?, token: token? })
}

impl Node {
    /// Tells a publisher or service of this process in a header to it, with a token that is new.
    pub(super) fn tell_of_process(&mut self, header: &mut ConnectionHeader) -> Option<u128> {
        let same_host = self.config.same_host.as_ref()?;
        self.last_token += 1;
        let token = same_host.token(self.last_token);
        same_host.tell(header, Some(token));
        Some(token)
    }

    /// Answers a subscriber or client that has told of its process.
    pub(super) fn answer_of_process(
        &self,
        asked: Option<Meeting>,
        reply: &mut ConnectionHeader,
    ) -> Option<Meeting> {
        let same_host = self.config.same_host.as_ref()?;
        asked.inspect(|_| same_host.tell(reply, None))
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
        let mine = SameHost { process: 7, secret: 1 };
        let mut header = ConnectionHeader::new([("topic", "/a")]);
        assert_eq!(asked_to_meet(&header), None);
        mine.tell(&mut header, None);
        assert_eq!((process_of(&header), asked_to_meet(&header)), (Some(7), None));
        let mut header = ConnectionHeader::new([]);
        mine.tell(&mut header, Some(9));
        assert_eq!(asked_to_meet(&header), Some(Meeting { process: 7, token: 9 }));
    }

    #[test]
    fn tokens_differ_by_link_and_secret() {
        let tokens = [(1, 1), (1, 2), (2, 1)];
        let [a, b, c] = tokens.map(|(secret, link)| SameHost { process: 0, secret }.token(link));
        assert!(a != b && a != c && b != c);
        assert_eq!(a, SameHost { process: 5, secret: 1 }.token(1));
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
