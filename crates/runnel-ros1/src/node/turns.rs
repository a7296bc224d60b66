//! Turns of connections to publishers: a few are made at a time to one address.

use std::collections::VecDeque;

use litemap::LiteMap;

use crate::net::Endpoint;

/// Connections to publishers at one host and port that are made at a time. rospy's listener has room for 5 that it has not
/// accepted; one beyond that takes a second, when its first packet is sent again.
const CONNECTIONS_IN_PROGRESS: usize = 4;

/// A link to a publisher: topic and URI.
pub(super) type LinkName = (String, String);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Those that connections are being made to.
    addresses: LiteMap<Endpoint, Address>,
    /// Those where a connection has made way, and links wait.
    free: Vec<Endpoint>,
}

#[derive(Debug, Default)]
struct Address {
    /// Connections whose header has not come.
    in_progress: usize,
    waiting: VecDeque<LinkName>,
}

impl Turns {
    /// A link is to connect to an address. False if it has to wait, until [`Self::next`] gives it.
    pub(super) fn begin(&mut self, to: &Endpoint, link: LinkName) -> bool {
        let address = self.addresses.entry(to.clone()).or_default();
        let has_turn = address.in_progress < CONNECTIONS_IN_PROGRESS;
        if has_turn {
            address.in_progress += 1;
        } else if !address.waiting.contains(&link) {
            // A link that ends and comes again keeps its place.
            address.waiting.push_back(link);
        }
        has_turn
    }

    /// A connection that had its turn has its header, or is no more.
    pub(super) fn end(&mut self, to: &Endpoint) {
        let Some(address) = self.addresses.get_mut(to) else { return };
        address.in_progress -= 1;
        if !address.waiting.is_empty() {
            self.free.push(to.clone());
        } else if address.in_progress == 0 {
            self.addresses.remove(to);
        }
    }

    /// A link that may connect, with [`Self::begin`], if it still waits for its turn there.
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
    fn links_connect_in_order_as_others_make_way() {
        let (mut turns, to) = (Turns::default(), address(1));
        let begun = (0..7).filter(|number| turns.begin(&to, link(*number))).count();
        assert_eq!((begun, turns.next()), (CONNECTIONS_IN_PROGRESS, None));
        turns.end(&to);
        assert_eq!(turns.next(), Some((to.clone(), link(4))));
        // That link waits no longer, so the next has its turn.
        assert_eq!(turns.next(), Some((to.clone(), link(5))));
        assert!(turns.begin(&to, link(5)));
        assert_eq!(turns.next(), None);
        turns.end(&to);
        assert_eq!(turns.next(), Some((to, link(6))));
    }

    #[test]
    fn link_waits_once_however_often_it_comes() {
        let (mut turns, to) = (Turns::default(), address(1));
        (0..4).for_each(|number| _ = turns.begin(&to, link(number)));
        (0..100).for_each(|_| assert!(!turns.begin(&to, link(4))));
        turns.end(&to);
        assert_eq!(turns.next(), Some((to, link(4))));
        assert_eq!(turns.next(), None);
    }

    #[test]
    fn turns_are_given_only_where_a_connection_made_way() {
        let mut turns = Turns::default();
        let [busy, free] = [1, 2].map(address);
        for to in [&busy, &free] {
            (0..5).for_each(|number| _ = turns.begin(to, link(number)));
        }
        turns.end(&free);
        assert_eq!(turns.free, std::slice::from_ref(&free));
        assert_eq!(turns.next(), Some((free.clone(), link(4))));
        assert!(turns.begin(&free, link(4)));
        assert_eq!((turns.next(), turns.free.len()), (None, 0));
    }

    #[test]
    fn address_without_connections_is_forgotten() {
        let (mut turns, to) = (Turns::default(), address(1));
        (0..5).for_each(|number| _ = turns.begin(&to, link(number)));
        (0..4).for_each(|_| turns.end(&to));
        assert_eq!(turns.next(), Some((to, link(4))));
        assert_eq!((turns.next(), turns.addresses.len(), turns.free.len()), (None, 0, 0));
    }
}
