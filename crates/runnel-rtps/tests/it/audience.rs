//! Writers that match only some readers.

use crate::net::{Net, millis, options, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::{Audience, EndpointOptions};

#[test]
fn writer_matches_only_its_audience() {
    let mut net = Net::new(1);
    let (talker, old, new) = (net.add(), net.add(), net.add());
    let qos = QoS::keep_last(1).transient_local();
    let (now, stamp) = (net.now, net.stamp());
    let participant = &mut net.nodes[talker].participant;
    let hashed = Audience::new(|endpoint: &Endpoint| !endpoint.user_data.is_empty());
    let others = Audience::new(|endpoint: &Endpoint| endpoint.user_data.is_empty());
    let to_new = participant.create_writer_for(now, stamp, options("nodes", qos), hashed);
    let to_old = participant.create_writer_for(now, stamp, options("nodes", qos), others);
    for (writer, number) in [(to_new, 1), (to_old, 2)] {
        net.write(talker, writer, &sample(number, 8)).unwrap();
    }
    let without = net.reader(old, "nodes", qos);
    let declared = EndpointOptions { user_data: b"typehash=RIHS01_00;".to_vec(), ..options("nodes", qos) };
    let with = net.nodes[new].participant.create_reader(now, stamp, declared);
    net.touch(new);
    net.run_until("each has received", secs(5), |net| {
        net.texts(old, without).len() == 1 && net.texts(new, with).len() == 1
    });
    net.run_for(millis(500));
    assert_eq!(net.texts(old, without), [sample(2, 8)]);
    assert_eq!(net.texts(new, with), [sample(1, 8)]);
}
