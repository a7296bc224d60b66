//! Soak of dual nodes in processes of their own, over real sockets and real shared memory, with constant handovers.
//!
//! A talker publishes numbered messages of many sizes, reliably and by best effort. Readers subscribe, some with both
//! QoS in one node. IPC connections end and return, datagrams are dropped, connections are reset, and readers join,
//! leave, are suspended or killed. Several such changes overlap, then everything recovers. Reliable messages arrive
//! once and in order at each keep-all subscription, even if leases end while RTPS delivers nothing. A reset connection
//! may lose the messages in transit, at one counted gap per subscription. On a host that is slower than the talker, a
//! full queue drops messages, which are counted as such. Best-effort messages arrive in order, and again after the
//! recovery.
//!
//! `SOAK_SEEDS=100` runs this many seeds, from `SOAK_FIRST=25` on. `SOAK_MINUTES=30` runs one seed for that long. Then
//! leases end, too, in one of a hundred changes or in `SOAK_SLOW=30` percent: `SOAK_MINUTES=30 cargo test -p runnel
//! --test alone dual_soak -- --nocapture`. `SOAK_CHANGES=LoseDatagrams,Blackout` draws only these [changes](Change),
//! each with the same probability.

mod account;
mod change;
mod control;
mod network;
mod reader;
mod roles;
mod scene;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::child_process::run_role_if_child;
use crate::process::alone;
use change::{Change, Changes};
use runnel_testkit::hosts::Host;
use runnel_testkit::net::Rng;
use scene::Scene;

const ENTRY: &str = "dual_soak::child_process_runs_its_role";

/// The talker's publishers, as indices of the counters.
const RELIABLE: usize = 0;
const BEST_EFFORT: usize = 1;

/// Several leases of the ROS 2 graph: only a failing test waits so long.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Number of recoveries per seed, unless `SOAK_MINUTES` is set.
const ROUNDS: u32 = 8;

#[test]
fn child_process_runs_its_role() {
    run_role_if_child(|role, argument| match role {
        "talks" => roles::talk(argument),
        "reads" => roles::read(argument),
        other => panic!("no such role: {other}"),
    });
}

/// Length of a seed.
#[derive(Clone, Copy)]
enum Length {
    Rounds(u32),
    For(Duration),
}

fn soak(seed: u64, length: Length, selection: &Changes) {
    let (mut rng, mut scene) = (Rng::new(seed), Scene::new());
    let (began, mut rounds, mut changes) = (Instant::now(), 0, BTreeMap::<String, u32>::new());
    scene.settle();
    let is_over = |rounds| match length {
        Length::Rounds(count) => rounds == count,
        Length::For(time) => began.elapsed() >= time,
    };
    while !is_over(rounds) {
        let burst: Vec<Change> = (0..=rng.below(4)).map(|_| selection.draw(&mut rng)).collect();
        // Long enough for handovers to complete, or not.
        scene.run_undisturbed(rng.between(Duration::ZERO, Duration::from_millis(800)));
        println!("seed {seed}, round {rounds}, {:.1} s: {burst:?}", began.elapsed().as_secs_f32());
        for change in burst {
            scene.apply(change, &mut rng);
            *changes.entry(format!("{change:?}")).or_default() += 1;
            // Nothing else happens meanwhile.
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
    let selection = match std::env::var("SOAK_CHANGES") {
        Ok(names) => Changes::Only(names.split(',').map(|name| name.parse().unwrap()).collect()),
        Err(_) => Changes::All { slow },
    };
    let first = number("SOAK_FIRST").unwrap_or(0);
    for seed in first..first + number("SOAK_SEEDS").unwrap_or(1) {
        let host = Host::new();
        host.ip("link set lo multicast on");
        host.ip("route add 224.0.0.0/4 dev lo");
        host.run(|| soak(seed, length, &selection));
    }
}
