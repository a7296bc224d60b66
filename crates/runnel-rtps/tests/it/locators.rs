//! Announced locators: one forged announcement changes none, and a participant that moves is followed.

use runnel_core::qos::QoS;
use runnel_rtps::announce::ParticipantData;
use runnel_rtps::wire::{Data, EntityId, Payload, SequenceNumber, VendorId};
use std::net::SocketAddr;

use crate::forgeries::{Scene, Victim};
use crate::net::{Net, millis, sample, secs};

fn scene() -> Scene {
    let mut scene = Scene::new(VendorId::RUNNEL, QoS::keep_all(), 20);
    scene.net.run_for(secs(4));
    scene
}

/// Forges an announcement of the second node, from its address, with another port of its host.
fn forge(scene: &mut Scene, port: u16) {
    let prefix = scene.prefix(1);
    let known = scene.net.nodes[0].participant.peer(prefix).unwrap().data.clone();
    let other_address = SocketAddr::new(scene.net.nodes[1].address.ip(), port);
    let data = ParticipantData { metatraffic: vec![other_address], unicast: vec![other_address], ..known };
    scene.forge(Victim::Writer, |_, out| {
        let mut payload = vec![];
        data.emit(&mut payload);
        let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
        Data::emit(out, ends, SequenceNumber::FIRST, &[], Payload::Value(&payload));
    });
}

fn address(scene: &Scene) -> SocketAddr {
    scene.net.nodes[0].participant.peer(scene.prefix(1)).unwrap().address()
}

#[test]
fn forged_announcement_changes_no_locators() {
    for (count, pause) in [(1, 0), (2, 0), (2, 150), (20, 1)] {
        let mut scene = scene();
        let (here, listed) = (address(&scene), scene.net.nodes[1].addresses.clone());
        // The true peer does not correct this meanwhile.
        scene.net.nodes[1].stopped = true;
        for _ in 0..count {
            forge(&mut scene, 9999);
            assert_eq!(address(&scene), here, "{count}, {pause} ms apart");
            scene.net.run_for(millis(pause));
        }
        let data = &scene.net.nodes[0].participant.peer(scene.prefix(1)).unwrap().data;
        assert_eq!((&data.metatraffic, &data.unicast), (&listed, &listed), "{count}, {pause} ms apart");
        scene.net.nodes[1].stopped = false;
        scene.write(20);
        assert_eq!(scene.received(), [0], "{count}, {pause} ms apart");
    }
}

/// Three consecutive ones are believed while the true peer is silent; then it is believed.
#[test]
fn true_peer_corrects_three_forged_locators() {
    let mut scene = scene();
    let here = address(&scene);
    scene.net.nodes[1].stopped = true;
    for _ in 0..3 {
        forge(&mut scene, 9999);
        scene.net.run_for(millis(120));
    }
    assert_eq!(address(&scene).port(), 9999);
    scene.net.nodes[1].stopped = false;
    // Its next announcement arrives within 3 s.
    scene.net.run_until("it is set right", secs(4), |net| {
        let peer = net.nodes[0].participant.peer(net.nodes[1].participant.prefix());
        peer.is_some_and(|peer| peer.address() == here)
    });
    scene.write(20);
    assert_eq!(scene.received(), [0]);
}

/// Creates a participant at these addresses, and a link to it.
fn mover_at(addresses: &[SocketAddr]) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    net.add();
    let own = addresses.to_vec();
    net.add_with(|config| {
        config.own_addresses = own.iter().map(SocketAddr::ip).collect();
        config.unicast = own;
    });
    let (writer, reader) =
        (net.writer(0, "rt/topic", QoS::keep_all()), net.reader(1, "rt/topic", QoS::keep_all()));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    net.run_for(secs(5));
    (net, writer, reader)
}

#[test]
fn moved_participant_is_followed_within_a_second() {
    let [wifi, cable]: [SocketAddr; 2] = [([10, 0, 1, 2], 7410).into(), ([10, 0, 2, 2], 7410).into()];
    let port = SocketAddr::new(wifi.ip(), 7500);
    let moves: [(&str, &[SocketAddr], &[SocketAddr]); 4] = [
        ("from Wi-Fi to cable, both known", &[wifi, cable], &[cable]),
        ("from Wi-Fi to cable", &[wifi], &[cable]),
        ("to another port", &[wifi], &[port]),
        ("to a second interface", &[wifi], &[cable, wifi]),
    ];
    for (what, before, after) in moves {
        let (mut net, writer, reader) = mover_at(before);
        net.move_to(1, after.to_vec());
        net.write(0, writer, &sample(1, 20)).unwrap();
        let received = |net: &Net| net.texts(1, reader).len() == 1;
        net.run_until(what, secs(1), received);
    }
}
