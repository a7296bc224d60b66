//! Pairs of forged datagrams, each healed on its own: the second arrives while the first is being healed.

use runnel_core::qos::QoS;
use runnel_rtps::announce::{BuiltinEndpoints, ParticipantData, Role};
use runnel_rtps::wire::{self, Data, EntityId, InfoDestination, Payload, SequenceNumber, VendorId};
use runnel_rtps::{Correction, Event};

use crate::forgeries::{Forge, Scene, Victim, end_of, farewell, gap, heartbeat};
use crate::net::{Net, secs};

const FAR: i64 = 1 << 40;

const MESSAGES_ONLY: BuiltinEndpoints = BuiltinEndpoints(0xc00);

/// Creates a writer and a reader that have exchanged some samples.
fn scene(vendor: VendorId) -> Scene {
    let mut scene = Scene::new(vendor, QoS::keep_all(), 100);
    (0..12).for_each(|_| scene.write(20));
    scene
}

/// Checks that all samples arrive, the latest by the second next announcement.
fn assert_all_samples_arrive(scene: &mut Scene, what: &str) {
    (0..200).for_each(|_| scene.write(20));
    scene.net.run_for(secs(1));
    assert_eq!(scene.received(), (0..scene.written).collect::<Vec<_>>(), "{what}");
}

/// Returns a node's announcement as another knows it, without discovery endpoints.
fn stripped(net: &Net, node: usize) -> Vec<u8> {
    let participant = &net.nodes[node].participant;
    let prefix = participant.prefix();
    let known = net.nodes[1 - node].participant.announced().find(|peer| peer.data.prefix == prefix);
    announced(&ParticipantData { builtin: MESSAGES_ONLY, ..known.unwrap().data.clone() })
}

fn announced(data: &ParticipantData) -> Vec<u8> {
    let (mut payload, mut out) = (vec![], vec![]);
    data.emit(&mut payload);
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    Data::emit(&mut out, ends, SequenceNumber::FIRST, &[], Payload::Value(&payload));
    out
}

#[test]
fn link_survives_forged_end_and_announcement() {
    for vendor in [VendorId::RUNNEL, VendorId::CYCLONE_DDS] {
        for victim in [Victim::Reader, Victim::Writer] {
            let mut scene = scene(vendor);
            let node = if victim == Victim::Reader { 0 } else { 1 };
            let announcement = stripped(&scene.net, node);
            scene.forge(victim, |scene, out| farewell(out, scene.prefix(node)));
            scene.forge(victim, |_, out| out.extend(announcement));
            assert_all_samples_arrive(&mut scene, &format!("{vendor:?}, {victim:?}"));
        }
    }
}

/// As a new participant it would have to announce everything again, which others may forge.
#[test]
fn announcement_after_forged_end_restores_participant() {
    let mut scene = scene(VendorId::RUNNEL);
    let known = scene.net.nodes[0].participant.peer(scene.prefix(1)).unwrap().data.clone();
    scene.forge(Victim::Writer, |scene, out| farewell(out, scene.prefix(1)));
    scene.forge(Victim::Writer, |_, out| out.extend(announced(&known)));
    scene.net.run_for(secs(1));
    let is_restored =
        |event: &Event| matches!(event, Event::Corrected { state: Correction::Participant, .. });
    assert!(scene.net.nodes[0].events.iter().any(is_restored));
    assert_all_samples_arrive(&mut scene, "");
}

/// Returns an announcement of the first node, as a forger would send it to the second.
fn announced_by_forger(net: &Net, vendor: VendorId, builtin: BuiltinEndpoints) -> Vec<u8> {
    let (from, prefixes) = (net.nodes[0].address, [0, 1].map(|node| net.nodes[node].participant.prefix()));
    let known = ParticipantData {
        prefix: prefixes[0],
        version: wire::VERSION,
        vendor,
        domain: None,
        domain_tag: String::new(),
        lease: Some(secs(20)),
        builtin,
        metatraffic: vec![from],
        unicast: vec![from],
        name: String::new(),
        user_data: vec![],
    };
    let mut out = vec![];
    wire::begin(&mut out, vendor, prefixes[0]);
    InfoDestination { prefix: prefixes[1] }.emit(&mut out);
    out.extend(announced(&known));
    out
}

/// It claims that the participant has no discovery, or a vendor that gets numbers from 1 on.
#[test]
fn participant_first_announced_by_forger_is_matched() {
    let forged = [(VendorId::RUNNEL, MESSAGES_ONLY), (VendorId([13, 37]), BuiltinEndpoints::OURS)];
    for (vendor, builtin) in forged {
        let mut net = Net::new(3);
        let _ = [net.add(), net.add()];
        let ids = [net.writer(0, "rt/topic", QoS::default()), net.reader(1, "rt/topic", QoS::default())];
        let [from, to] = [0, 1].map(|node| net.nodes[node].address);
        let out = announced_by_forger(&net, vendor, builtin);
        net.send(from, to, &out);
        let are_matched = |net: &Net| [0, 1].iter().all(|node| net.is_matched(*node, ids[*node]));
        net.run_until("the endpoints match", secs(5), are_matched);
    }
}

#[test]
fn link_survives_forged_position_and_end() {
    let positions: [(&str, Forge); 2] = [
        ("HEARTBEAT", |scene, out| heartbeat(scene, FAR, FAR, 1000).emit(out)),
        ("GAP", |scene, out| gap(scene, scene.next(), FAR).emit(out)),
    ];
    let ends: [(&str, Forge); 2] = [
        ("endpoint", |scene, out| {
            end_of(
                out,
                scene.prefix(0).with(scene.writer),
                Role::Writer,
                scene.next_announced(0, Role::Writer),
            )
        }),
        ("participant", |scene, out| farewell(out, scene.prefix(0))),
    ];
    for (position, skip) in positions {
        for (what, end) in ends {
            let mut scene = scene(VendorId::RUNNEL);
            scene.forge(Victim::Reader, skip);
            scene.forge(Victim::Reader, end);
            assert_all_samples_arrive(&mut scene, &format!("{position}, end of the {what}"));
        }
    }
}

#[test]
fn endpoint_with_forged_end_returns_after_blackout() {
    let mut scene = scene(VendorId::RUNNEL);
    scene.net.run_for(secs(1));
    scene.forge(Victim::Writer, |scene, out| {
        end_of(out, scene.prefix(1).with(scene.reader), Role::Reader, scene.next_announced(1, Role::Reader))
    });
    scene.net.blackout = true;
    scene.net.run_for(secs(5));
    scene.net.blackout = false;
    let writer = scene.writer;
    scene.net.run_until("it is back", secs(2), |net| net.is_matched(0, writer));
    assert_all_samples_arrive(&mut scene, "");
}
