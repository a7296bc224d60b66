//! Limit of simultaneous connection attempts to publishers at one address.

use std::collections::VecDeque;

use runnel_core::sorted::SortedMap;

use crate::net::Endpoint;

/// Connection attempts to one host and port at a time. rospy's listener has a backlog of 5; a connection beyond it
/// takes a second, until its SYN is retransmitted.
const CONNECTIONS_IN_PROGRESS: usize = 4;

/// Key of a link to a publisher: topic and URI.
pub(super) type LinkName = (String, String);

/// Limits the connection attempts per address, and queues the links that must wait.
#[derive(Debug, Default)]
pub(super) struct ConnectLimiter {
    /// Addresses with connection attempts in progress.
    addresses: SortedMap<Endpoint, Address>,
    /// Addresses where an attempt has ended while links wait.
    free: Vec<Endpoint>,
}

#[derive(Debug, Default)]
struct Address {
    /// Connections whose header has not arrived.
    in_progress: usize,
    waiting: VecDeque<LinkName>,
}

impl ConnectLimiter {
    /// Requests a connection for a link. False if it must wait until [`Self::next`] returns it.
    pub(super) fn begin(&mut self, to: &Endpoint, link: LinkName) -> bool {
        let address = self.addresses.entry(to.clone()).or_default();
        let has_turn = address.in_progress < CONNECTIONS_IN_PROGRESS;
        if has_turn {
            address.in_progress += 1;
        } else if !address.waiting.contains(&link) {
            // A link that ends and is made again keeps its place.
            address.waiting.push_back(link);
        }
        has_turn
    }

    /// An attempt has ended: its header has arrived, or the connection is closed.
    pub(super) fn end(&mut self, to: &Endpoint) {
        let Some(address) = self.addresses.get_mut(to) else { return };
        address.in_progress -= 1;
        if !address.waiting.is_empty() {
            self.free.push(to.clone());
        } else if address.in_progress == 0 {
            self.addresses.remove(to);
        }
    }

    /// A waiting link that may now connect. It must call [`Self::begin`] if it still waits.
    pub(super) fn next(&mut self) -> Option<(Endpoint, LinkName)> {
        while let Some(to) = self.free.last() {
            if let Some(address) = self.addresses.get_mut(to)
                && address.in_progress < CONNECTIONS_IN_PROGRESS
                && let Some(link) = address.waiting.pop_front()
            {
                return Some((to.clone(), link));
            }
            let is_unused = |address: &Address| address.in_progress == 0 && address.waiting.is_empty();
            if self.addresses.get(to).is_some_and(is_unused) {
                self.addresses.remove(to);
            }
            self.free.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> Endpoint {
        Endpoint { host: "robot".to_owned(), port }
    }

    fn link(number: usize) -> LinkName {
        (format!("/t{number}"), "http://robot:1/".to_owned())
    }

    #[test]
    fn waiting_links_connect_in_order() {
        let (mut connect_limit, to) = (ConnectLimiter::default(), address(1));
        let begun = (0..7).filter(|number| connect_limit.begin(&to, link(*number))).count();
        assert_eq!((begun, connect_limit.next()), (CONNECTIONS_IN_PROGRESS, None));
        connect_limit.end(&to);
        assert_eq!(connect_limit.next(), Some((to.clone(), link(4))));
        // The returned link no longer waits, so the next one gets the slot.
        assert_eq!(connect_limit.next(), Some((to.clone(), link(5))));
        assert!(connect_limit.begin(&to, link(5)));
        assert_eq!(connect_limit.next(), None);
        connect_limit.end(&to);
        assert_eq!(connect_limit.next(), Some((to, link(6))));
    }

    #[test]
    fn repeated_request_waits_once() {
        let (mut connect_limit, to) = (ConnectLimiter::default(), address(1));
        (0..4).for_each(|number| _ = connect_limit.begin(&to, link(number)));
        (0..100).for_each(|_| assert!(!connect_limit.begin(&to, link(4))));
        connect_limit.end(&to);
        assert_eq!(connect_limit.next(), Some((to, link(4))));
        assert_eq!(connect_limit.next(), None);
    }

    #[test]
    fn freed_slot_is_used_at_its_address() {
        let mut connect_limit = ConnectLimiter::default();
        let [busy, free] = [1, 2].map(address);
        for to in [&busy, &free] {
            (0..5).for_each(|number| _ = connect_limit.begin(to, link(number)));
        }
        connect_limit.end(&free);
        assert_eq!(connect_limit.free, std::slice::from_ref(&free));
        assert_eq!(connect_limit.next(), Some((free.clone(), link(4))));
        assert!(connect_limit.begin(&free, link(4)));
        assert_eq!((connect_limit.next(), connect_limit.free.len()), (None, 0));
    }

    #[test]
    fn idle_address_is_removed() {
        let (mut connect_limit, to) = (ConnectLimiter::default(), address(1));
        (0..5).for_each(|number| _ = connect_limit.begin(&to, link(number)));
        (0..4).for_each(|_| connect_limit.end(&to));
        assert_eq!(connect_limit.next(), Some((to, link(4))));
        assert_eq!(
            (connect_limit.next(), connect_limit.addresses.len(), connect_limit.free.len()),
            (None, 0, 0)
        );
    }
}
