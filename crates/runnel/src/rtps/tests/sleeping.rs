//! A thread that sleeps, and other threads that meanwhile give it work.

use std::hint::spin_loop;
use std::sync::{Barrier, OnceLock};

use runnel_core::qos::Liveliness;
use runnel_io::Events;

use super::*;

/// Repetitions of each race.
const ROUNDS: u32 = 300;

/// Handles timeouts until none is due within a second. Returns the time of the next one.
fn rest(rtps: &Rtps) -> Instant {
    let until = StdInstant::now() + LONG;
    loop {
        assert!(StdInstant::now() < until, "it never comes to rest");
        poll_once(rtps);
        match rtps.deadline() {
            Some(at) if at.since(clock::monotonic()) > Duration::from_secs(1) => return at,
            _ => std::thread::yield_now(),
        }
    }
}

/// Sleeps as the driver does, unless it must not, but past `due` as well. True if it was woken at all.
fn sleep(rtps: &Rtps, reactor: &Reactor, due: Instant) -> bool {
    let begun = StdInstant::now();
    if rtps.fall_asleep(Some(due)) {
        reactor.wait(&mut Events::default(), Some(LONG)).unwrap();
    }
    rtps.wake_up();
    begun.elapsed() < LONG
}

/// One thread falls asleep while another gives it work, a little earlier or later each time.
fn race(domain: u16, give_work: impl Fn(&Rtps, u32) + Sync, done: impl Fn(&Rtps)) {
    require_private_network();
    let reactor = Reactor::new().unwrap();
    let rtps = Rtps::open(&settings(domain, ""), reactor.waker().clone()).unwrap();
    let barrier = Barrier::new(2);
    for round in 0..ROUNDS {
        let until = rest(&rtps);
        std::thread::scope(|scope| {
            let giving = scope.spawn(|| {
                barrier.wait();
                (0..round * 20).for_each(|_| spin_loop());
                give_work(&rtps, round);
                clock::monotonic() < until
            });
            barrier.wait();
            let woken = sleep(&rtps, &reactor, until);
            // On a busy machine the work may come only when the timeout is due anyway, and then nothing needs to wake
            // the thread.
            let in_time = giving.join().unwrap();
            assert!(woken || !in_time, "round {round}: not woken");
        });
        done(&rtps);
    }
}

#[test]
fn sleeper_is_woken_by_freed_capacity() {
    race(65, |rtps, _| rtps.request_more(), |rtps| assert!(rtps.wants_more() && !rtps.wants_more()));
}

#[test]
fn sleeper_is_woken_by_earlier_timeout() {
    // A shorter lease than before must be announced at once.
    let lease = |round| Some(Duration::from_secs(3600) - Duration::from_secs(round));
    let give_work = |rtps: &Rtps, round: u32| {
        let qos = QoS::default().liveliness(Liveliness::Automatic, lease(round.into()));
        rtps.create_writer(chatter(qos));
    };
    race(66, give_work, |rtps| assert!(rtps.deadline().is_some_and(|at| at <= clock::monotonic())));
}

#[test]
fn sleeper_is_woken_by_earlier_writer_timeout() {
    let lease = Some(Duration::from_millis(5));
    let qos = QoS::default().liveliness(Liveliness::ManualByTopic, lease);
    let writer = OnceLock::new();
    let give_work = |rtps: &Rtps, _| {
        let writer = writer.get_or_init(|| rtps.create_writer(chatter(qos)));
        rtps.assert_liveliness(writer);
    };
    race(75, give_work, |rtps| assert!(rtps.deadline().is_some_and(|at| at <= clock::monotonic() + LONG)));
}

#[test]
fn sleeper_is_not_woken_by_later_timeout() {
    require_private_network();
    let reactor = Reactor::new().unwrap();
    let rtps = Rtps::open(&settings(67, ""), reactor.waker().clone()).unwrap();
    let until = rest(&rtps);
    assert!(rtps.fall_asleep(Some(until)));
    rtps.create_reader(chatter(QoS::default()));
    let begun = clock::monotonic();
    reactor.wait(&mut Events::default(), Some(Duration::from_millis(50))).unwrap();
    assert!(clock::monotonic().since(begun) >= Duration::from_millis(50), "it was woken for nothing");
    rtps.wake_up();
}

#[test]
fn service_message_keeps_loop_awake_without_waking_it() {
    require_private_network();
    let reactor = Reactor::new().unwrap();
    let rtps = Rtps::open(&settings(77, ""), reactor.waker().clone()).unwrap();
    let until = rest(&rtps);
    assert!(rtps.fall_asleep(Some(until)));
    rtps.note_service_messages_due();
    let mut events = Events::default();
    reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(!events.woken(), "the event loop woke itself");
    rtps.wake_up();
    assert!(!rtps.fall_asleep(Some(until)), "it sleeps although messages are due");
    assert!(rtps.take_service_messages_due() && rtps.fall_asleep(Some(until)));
    rtps.wake_up();
}
