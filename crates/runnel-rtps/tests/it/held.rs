//! Readers that a writer holds: they get nothing of it until it is said from which sample on they do.

use crate::net::{Net, number_of, options, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{EntityId, Guid, SequenceNumber, Timestamp};

const TOPIC: &str = "rt/chatter";

fn numbers(net: &Net, node: usize, reader: EntityId) -> Vec<u32> {
    net.texts(node, reader).iter().map(|bytes| number_of(bytes)).collect()
}

/// A writer that has written 0 to 4, and a reader that it holds, with 5 to 7 written since.
fn held(qos: QoS) -> (Net, EntityId, EntityId, Guid) {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    let writer = net.writer(a, TOPIC, qos);
    // Somebody else has it hold what it writes.
    net.reader(a, TOPIC, qos);
    (0..5).for_each(|number| drop(net.write(a, writer, &sample(number, 100)).unwrap()));
    let reader = net.reader_with(b, options(TOPIC, qos));
    let guid = net.nodes[b].participant.prefix().with(reader);
    while !net.nodes[a].participant.matched(writer).contains(&guid) {
        net.step();
    }
    net.nodes[a].participant.hold(writer, guid);
    (5..8).for_each(|number| drop(net.write(a, writer, &sample(number, 100)).unwrap()));
    net.run_for(secs(1));
    assert_eq!(numbers(&net, b, reader), [0; 0]);
    (net, writer, reader, guid)
}
