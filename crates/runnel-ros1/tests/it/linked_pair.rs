//! A talker and a listener with a link.

use runnel_testkit::net::{App, Net, secs};

pub const TOPIC: &str = "/chatter";

/// Returns the network, the master, the talker and the listener.
pub fn linked_pair(seed: u64) -> (Net, App, App, App) {
    let mut net = Net::new(seed);
    let master = net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise(talker, TOPIC);
    net.subscribe(listener, TOPIC);
    net.run_until("they are linked", secs(2), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    (net, master, talker, listener)
}
