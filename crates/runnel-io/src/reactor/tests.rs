use super::*;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const LONG: Option<Duration> = Some(Duration::from_secs(30));

fn tokens(events: &Events) -> Vec<(u64, bool, bool)> {
    events.iter().map(|e| (e.token.0, e.readable, e.writable)).collect()
}

#[test]
fn readable_descriptor_is_reported_until_served() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    reactor.add(&far, Token(7), Interest::Read).unwrap();
    near.write_all(b"x").unwrap();
    for _ in 0..2 {
        reactor.wait(&mut events, LONG).unwrap();
        assert_eq!(tokens(&events), [(7, true, false)]);
    }
}

#[test]
fn each_edge_is_reported_once() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    reactor.add_edge(&far, Token(7)).unwrap();
    for _ in 0..2 {
        near.write_all(b"x").unwrap();
        reactor.wait(&mut events, LONG).unwrap();
        assert_eq!(tokens(&events), [(7, true, false)]);
        reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(tokens(&events).is_empty());
    }
}

#[test]
fn interest_can_be_changed() {
    let (near, _far) = UnixStream::pair().unwrap();
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    reactor.add(&near, Token(1), Interest::Nothing).unwrap();
    reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(tokens(&events).is_empty());
    reactor.modify(&near, Token(1), Interest::Both).unwrap();
    reactor.wait(&mut events, LONG).unwrap();
    assert_eq!(tokens(&events), [(1, false, true)]);
}

#[test]
fn waker_ends_wait_from_other_thread() {
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    let waker = reactor.waker().clone();
    let thread = std::thread::spawn(move || waker.wake());
    reactor.wait(&mut events, LONG).unwrap();
    assert!(tokens(&events).is_empty() && events.woken());
    thread.join().unwrap();
    reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
    assert!(!events.woken());
}

type Wait = fn(&Reactor, &mut Events, Duration) -> io::Result<()>;

/// The waits of new and old kernels.
const WAITS: [Wait; 2] = [Reactor::wait_nanoseconds, Reactor::wait_in_parts];

#[test]
fn submillisecond_wait_is_not_short() {
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    for wait in WAITS {
        for time in [Duration::from_micros(1500), Duration::from_micros(20_500)] {
            let start = crate::clock::monotonic();
            wait(&reactor, &mut events, time).unwrap();
            assert!(crate::clock::monotonic().since(start) >= time);
            assert!(tokens(&events).is_empty());
        }
    }
}

#[test]
fn event_ends_submillisecond_wait() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    reactor.add(&far, Token(7), Interest::Read).unwrap();
    near.write_all(b"x").unwrap();
    for wait in WAITS {
        events.clear();
        wait(&reactor, &mut events, Duration::new(30, 1)).unwrap();
        assert_eq!(tokens(&events), [(7, true, false)]);
        assert!(events.is_complete());
    }
}
