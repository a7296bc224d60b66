//! Nodes of both graphs in processes of their own, over real sockets and real memory, while their paths change all the time.
//!
//! A talker publishes numbered messages of many sizes, reliably and by best effort. Readers subscribe, some reliably beside best
//! effort in one node. Sessions of shared memory end and come back, datagrams are cut off or lost, connections are reset, readers
//! come, go, stand still and are killed: a few of these in a row, so that the second change begins during the first, and then
//! everything gets well. What is published reliably comes once and in order to each subscription that keeps all, also when leases
//! end while nothing gets through by RTPS. A connection that
//! is reset may cost what was under way, at one place of each subscription, which is counted. What comes by best effort comes in
//! order, and again when everything is well.
//!
//! `SOAK_SEEDS=100` tries so many seeds, and `SOAK_FIRST=25` begins with that one. `SOAK_MINUTES=30` goes on for so long with one
//! seed, and has leases end, too, by one change of a hundred, or by as many as `SOAK_SLOW=30` says: `SOAK_MINUTES=30 cargo test -p runnel --test alone dual_soak -- --nocapture`.

mod account;
mod change;
mod control;
mod network;
mod parts;
mod reader;
mod scene;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::played::play_if_asked;
use crate::process::alone;
use change::Change;
use runnel_testkit::hosts::Host;
use runnel_testkit::net::Rng;
use scene::Scene;

const ENTRY: &str = "dual_soak::child_process_runs_its_role";

/// The publishers of the talker, by their place in what is counted.
const RELIABLE: usize = 0;
const BEST_EFFORT: usize = 1;

/// Several leases of the ROS 2 graph; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(120);

/// So often everything gets well for one seed, unless `SOAK_MINUTES` says otherwise.
const ROUNDS: u32 = 8;

#[test]
fn child_process_runs_its_role() {
    play_if_asked(|part, argument| match part {
        "talks" => parts::talk(argument),
        "reads" => parts::read(argument),
        other => panic!("no such part: {other}"),
    });
}

/// How long a seed goes on.
#[derive(Clone, Copy)]
enum Length {
    Rounds(u32),
    For(Duration),
}

fn soak(seed: u64, length: Length, slow: u32) {
    let (mut rng, mut scene) = (Rng::new(seed), Scene::new());
    let (began, mut rounds, mut changes) = (Instant::now(), 0, BTreeMap::<String, u32>::new());
    scene.settle();
    let is_over = |rounds| match length {
        Length::Rounds(count) => rounds == count,
        Length::For(time) => began.elapsed() >= time,
    };
    while !is_over(rounds) {
        let burst: Vec<Change> = (0..=rng.below(4)).map(|_| Change::draw(&mut rng, slow)).collect();
        // Long enough for paths to change in peace, or not.
        scene.rest(rng.between(Duration::ZERO, Duration::from_millis(800)));
        println!("seed {seed}, round {rounds}, {:.1} s: {burst:?}", began.elapsed().as_secs_f32());
        for change in burst {
            scene.apply(change, &mut rng);
            *changes.entry(format!("{change:?}")).or_default() += 1;
            // For so long nothing else happens.
            std::thread::sleep(rng.between(Duration::ZERO, Duration::from_millis(100)));
        }
        scene.settle();
        rounds += 1;
    }
    let published = scene.end();
    let seconds = began.elapsed().as_secs_f32();
    println!("seed {seed}: {rounds} rounds in {seconds:.0} s, {changes:?}");
    println!("seed {seed}: {published} messages published, {:.0} a second", published as f32 / seconds);
    println!("seed {seed}: {} connections killed, {:?}", scene.killed_connections, scene.tally);
}

#[test]
fn dual_nodes_lose_and_double_nothing_during_handovers() {
    let _alone = alone();
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let length = number("SOAK_MINUTES")
        .map_or(Length::Rounds(ROUNDS), |minutes| Length::For(Duration::from_secs(60 * minutes)));
    let usual = if matches!(length, Length::For(_)) { 1 } else { 0 };
    let slow = number("SOAK_SLOW").map_or(usual, |percent| percent.try_into().expect("percent"));
    let first = number("SOAK_FIRST").unwrap_or(0);
    for seed in first..first + number("SOAK_SEEDS").unwrap_or(1) {
        let host = Host::new();
        host.ip("link set lo multicast on");
        host.ip("route add 224.0.0.0/4 dev lo");
        host.run(|| soak(seed, length, slow));
    }
}
