//! What the messages of a bag say: their sizes, and the calls of services.

use std::collections::HashSet;
use std::path::Path;

use runnel_bag::{BagReader, ChannelId, Selection};

use super::description::Entry;
use crate::bag::damage_log::DamageLog;
use crate::bag::service_topics::ServiceTopic;

/// How many requests and responses of a service there are. Those of the client and of the server are the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    pub(super) requests: u64,
    pub(super) responses: u64,
}

impl Calls {
    pub(super) fn add(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.responses = self.responses.saturating_add(other.responses);
    }
}

/// What was read, by the positions of the channels.
#[derive(Default)]
pub(super) struct Contents {
    channels: Vec<(u64, Calls)>,
}

/// A request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Call {
    is_response: bool,
    /// GID of the client and number of the request.
    id: [u8; 24],
}

impl Contents {
    /// Reads all messages. Parts of the bag that cannot be read are logged and left out.
    pub(super) fn read(path: &Path, reader: &mut dyn BagReader) -> Self {
        let are_calls: Vec<bool> =
            reader.channels().iter().map(|channel| ServiceTopic::of(channel).is_some()).collect();
        let mut channels = vec![(0_u64, Calls::default()); are_calls.len()];
        let (mut known, mut damage) = (HashSet::<(ChannelId, Call)>::new(), DamageLog::default());
        for read in reader.messages(&Selection::default()) {
            let message = match read {
                Ok(message) => message,
                Err(error) => {
                    damage.add(path, &error);
                    continue;
                }
            };
            let position = message.channel.index();
            let (len, calls) = &mut channels[position];
            *len = len.saturating_add(message.data.len() as u64);
            let call = are_calls[position].then(|| Call::of_event(&message.data)).flatten();
            if let Some(call) = call.filter(|call| known.insert((message.channel, *call))) {
                let count = if call.is_response { &mut calls.responses } else { &mut calls.requests };
                *count += 1;
            }
        }
        Self { channels }
    }

    /// What is known of a channel.
    pub(super) fn entry(&self, position: usize) -> Entry {
        let (len, calls) = self.channels.get(position).copied().unwrap_or_default();
        Entry { len, calls, ..Entry::default() }
    }
}

impl Call {
    /// The call of an event in CDR, which begins with a `service_msgs/msg/ServiceEventInfo`:
    ///
    /// | Bytes behind the encapsulation | |
    /// |---|---|
    /// | 0 | type of the event: 0 and 1 are requests, 2 and 3 responses |
    /// | 4 | stamp |
    /// | 12 | GID of the client, 16 bytes |
    /// | 32, in XCDR 2 28 | number of the request, 8 bytes |
    fn of_event(data: &[u8]) -> Option<Self> {
        let (encapsulation, event) = data.split_at_checked(4)?;
        let sequence = match encapsulation {
            [0, 0 | 1, ..] => 32,
            [0, 6 | 7, ..] => 28,
            _ => return None,
        };
        let is_response = match event.first()? {
            0 | 1 => false,
            2 | 3 => true,
            _ => return None,
        };
        let mut id = [0; 24];
        id[..16].copy_from_slice(event.get(12..28)?);
        id[16..].copy_from_slice(event.get(sequence..sequence + 8)?);
        Some(Self { is_response, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_found_in_either_encoding() {
        let event = |encoding: u8, kind: u8| {
            let padding = if encoding < 6 { &[0; 4][..] } else { &[] };
            let fields = [&[0, encoding, 0, 0, kind, 0, 0, 0][..], &[7; 8], &[5; 16], padding, &[1; 8]];
            fields.concat()
        };
        let id = *b"\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x01\x01\x01\x01\x01\x01\x01\x01";
        for encoding in [0, 1, 6, 7] {
            for (kind, is_response) in [(0, false), (1, false), (2, true), (3, true)] {
                let call = Call::of_event(&event(encoding, kind));
                assert_eq!(call, Some(Call { is_response, id }), "{encoding} {kind}");
            }
        }
        assert_eq!(Call::of_event(&event(1, 4)), None);
        assert_eq!(Call::of_event(&event(8, 0)), None);
        let whole = event(1, 0);
        for len in 0..whole.len() {
            assert_eq!(Call::of_event(&whole[..len]), None, "{len} bytes");
        }
    }
}
