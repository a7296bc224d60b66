//! Replies that a server no longer has, and that have not arrived.
//!
//! A server of another implementation keeps its last ten replies to all clients (rclpy, rclcpp). If that many follow before
//! a lost reply is sent again, it is gone. Neither its client nor its request is known then, so that no call fails: each
//! stays pending until its time limit.

use runnel_rtps::wire::{EntityId, Guid};

use super::Ros2;

/// Number of such replies while a client had a pending call.
#[derive(Debug, Default)]
pub(super) struct LostReplies(u64);

impl LostReplies {
    /// Adds replies. Returns their number if it is to be logged: at the first, and whenever it has doubled.
    pub(super) fn add(&mut self, count: u64) -> Option<u64> {
        let before = self.0;
        self.0 = before.saturating_add(count);
        (self.0.checked_ilog2() > before.checked_ilog2()).then_some(self.0)
    }
}

impl Ros2 {
    /// Warns of replies that a client with a pending call can no longer get.
    pub(super) fn replies_lost(&mut self, reader: EntityId, server: Guid, count: u64) {
        let Some(client) = self.services.clients.get_mut(reader) else { return };
        if let Some((service, lost)) = client.note_lost_replies(count) {
            self.warn_of_participant(format_args!("{}", text(&service, server, lost)));
        }
    }
}

fn text(service: &str, server: Guid, lost: u64) -> String {
    format!(
        "service {service}: {server} has dropped replies from its history before they arrived; if one answers a pending \
         call of this client, the call waits until its time limit, and without one for ever; lost replies: {lost}. Try: \
         a time limit for each call, such as call_timeout"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_names_service_count_and_advice() {
        let text = text("/power", Guid::default(), 3);
        assert!(
            text.starts_with("service /power: ") && text.contains("lost replies: 3. Try: a time limit"),
            "{text}"
        );
    }

    #[test]
    fn lost_replies_are_logged_when_their_number_has_doubled() {
        let mut lost = LostReplies::default();
        let logged = [0, 1, 1, 1, 2, 3, 10].map(|count| lost.add(count));
        assert_eq!(logged, [None, Some(1), Some(2), None, Some(5), Some(8), Some(18)]);
    }
}
