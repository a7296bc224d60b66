//! Answered requests of a service's clients in ROS 2, with their replies: after an outage, a client sends a request again
//! whose reply was lost. It gets the same reply, and the request does not run again.
//!
//! The latest replies are kept, up to limits of their number and bytes. A request that its client sends again after its
//! reply was forgotten is a new one.

use std::collections::{BTreeMap, VecDeque};

use super::requester::RequestKey;
use crate::frame::Frame;

/// Limits of the replies of a service that are kept. A reply that is longer by itself is not.
const MOST_REPLIES: usize = 1000;
const MOST_BYTES: usize = 1 << 20;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct AnsweredRequests {
    replies: BTreeMap<RequestKey, Frame>,
    /// Their keys, the oldest first.
    keys: VecDeque<RequestKey>,
    bytes: usize,
}

impl AnsweredRequests {
    /// The reply to a request, if it is kept.
    pub(super) fn reply_to(&self, key: RequestKey) -> Option<&Frame> {
        self.replies.get(&key)
    }

    /// Keeps the reply to a request that was not answered before. The oldest replies give way.
    pub(super) fn keep(&mut self, key: RequestKey, reply: Frame) {
        if len(&reply) > MOST_BYTES {
            return;
        }
        self.bytes += len(&reply);
        self.replies.insert(key, reply);
        self.keys.push_back(key);
        while self.keys.len() > MOST_REPLIES || self.bytes > MOST_BYTES {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let oldest = self.keys.pop_front();
        if let Some(reply) = oldest.and_then(|key| self.replies.remove(&key)) {
            self.bytes -= len(&reply);
        }
    }
}

fn len(reply: &Frame) -> usize {
    reply.as_ref().len()
}

#[cfg(test)]
mod tests {
    use runnel_core::wire::Encoding;

    use super::*;

    fn key(number: usize) -> RequestKey {
        ([1; 16], i64::try_from(number).unwrap())
    }

    fn reply(len: usize) -> Frame {
        Frame::new(Encoding::Xcdr1, vec![0; len])
    }

    /// The numbers of the requests whose replies are kept.
    fn kept(requests: &AnsweredRequests) -> Vec<i64> {
        requests
            .keys
            .iter()
            .filter(|key| requests.reply_to(**key).is_some())
            .map(|(_, number)| *number)
            .collect()
    }

    #[test]
    fn oldest_replies_give_way_by_number() {
        let mut requests = AnsweredRequests::default();
        (0..MOST_REPLIES + 2).for_each(|number| requests.keep(key(number), reply(8)));
        assert_eq!(kept(&requests).len(), MOST_REPLIES);
        assert!(requests.reply_to(key(1)).is_none());
        assert!(requests.reply_to(key(2)).is_some());
        assert_eq!(requests.bytes, MOST_REPLIES * 8);
    }

    #[test]
    fn oldest_replies_give_way_by_bytes() {
        let mut requests = AnsweredRequests::default();
        requests.keep(key(0), reply(8));
        requests.keep(key(1), reply(MOST_BYTES / 2));
        requests.keep(key(2), reply(MOST_BYTES / 2));
        assert_eq!(kept(&requests), [1, 2]);
        requests.keep(key(3), reply(MOST_BYTES + 1));
        assert_eq!(kept(&requests), [1, 2], "a reply that is too long displaces none");
        requests.keep(key(4), reply(MOST_BYTES));
        assert_eq!(kept(&requests), [4]);
    }
}
