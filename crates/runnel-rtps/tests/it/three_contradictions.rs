//! Run of three contradictions: three consecutive datagrams that contradict the state are believed, and no fewer. A
//! slow link is quiet for most of a second, so nothing else keeps a forged datagram from being believed.

use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::wire::VendorId;

use crate::forgeries::{Scene, Victim, heartbeat};
use crate::net::millis;

/// Samples of a link, and the interval between them in milliseconds.
const SAMPLES: u32 = 5;
const PAUSE: u64 = 1000;

/// Creates a link with a sample each second, whose writer keeps the last ones.
fn slow_link() -> Scene {
    let qos = QoS::keep_last(100).transient_local();
    let mut scene = Scene::new(VendorId::CYCLONE_DDS, qos, 20);
    (0..SAMPLES).for_each(|_| scene.write(PAUSE));
    scene
}

fn corrections(scene: &Scene) -> usize {
    let is_one = |event: &&Event| matches!(event, Event::Corrected { .. });
    scene.net.nodes[1].events.iter().filter(is_one).count()
}

fn sent(scene: &Scene) -> usize {
    scene.net.nodes.iter().map(|node| node.sent).sum()
}

/// Appends the HEARTBEAT of a restarted writer that has written nothing.
fn empty(scene: &Scene, out: &mut Vec<u8>, index: u32) {
    heartbeat(scene, 1, 0, 1000 + index).emit(out);
}

/// Appends a HEARTBEAT with a different count.
fn heartbeat_with_new_count(scene: &Scene, out: &mut Vec<u8>, index: u32) {
    heartbeat(scene, 1, SAMPLES.into(), (1 << 24) + index).emit(out);
}

type Forge = fn(&Scene, &mut Vec<u8>, u32);

const FORGERIES: [(&str, Forge); 2] = [("position", empty), ("counts", heartbeat_with_new_count)];

#[test]
fn third_consecutive_contradiction_is_believed() {
    for (what, forge) in FORGERIES {
        for count in 0..=3 {
            let mut scene = slow_link();
            // The true writer is silent meanwhile.
            scene.net.nodes[0].stopped = true;
            for index in 0..count {
                scene.forge(Victim::Reader, |scene, out| forge(scene, out, index));
                scene.net.run_for(millis(50));
            }
            assert_eq!(corrections(&scene), usize::from(count == 3), "{what}: {count} forged");
            scene.net.nodes[0].stopped = false;
            if count < 3 {
                (0..SAMPLES).for_each(|_| scene.write(PAUSE));
                let all: Vec<u32> = (0..2 * SAMPLES).collect();
                assert_eq!(scene.received(), all, "{what}: {count} forged");
            }
        }
    }
}

/// The reader asks the writer, whose answer interrupts the run.
#[test]
fn forged_datagram_on_quiet_link_costs_few_datagrams() {
    for (what, forge) in FORGERIES {
        let [mut quiet, mut attacked] = [slow_link(), slow_link()];
        let before = sent(&quiet);
        assert_eq!(before, sent(&attacked));
        for index in 0..3 {
            quiet.net.run_for(millis(301));
            attacked.forge(Victim::Reader, |scene, out| forge(scene, out, index));
            attacked.net.run_for(millis(300));
        }
        let cost = sent(&attacked) - sent(&quiet);
        assert!((6..=30).contains(&cost), "{what}: three forged datagrams cost {cost}");
        // Counts that are a little ahead are believed immediately, and corrected each time.
        let corrected = if what == "counts" { 0 } else { 3 };
        assert_eq!(corrections(&attacked), corrected, "{what}");
        (0..SAMPLES).for_each(|_| attacked.write(PAUSE));
        assert_eq!(attacked.received(), (0..2 * SAMPLES).collect::<Vec<_>>(), "{what}");
    }
}
