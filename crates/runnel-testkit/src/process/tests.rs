use super::*;

fn shell(script: &str) -> Peer {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    Peer::spawn("shell", command).unwrap()
}

#[test]
fn lines_of_both_streams_are_found_in_order() {
    let mut peer = shell("echo tick; echo oh >&2; echo tick; exec sleep 100");
    peer.wait_for_line(|line| line == "tick", deadline_in(10)).unwrap();
    peer.wait_for_line(|line| line == "tick", deadline_in(10)).unwrap();
    let error = peer.wait_for_line(|line| line == "tick", Instant::now()).unwrap_err();
    assert!(matches!(error.kind(), PeerErrorKind::TooLate(_)));
    assert!(error.to_string().contains("out| tick\n"), "{error}");
}

#[test]
fn ended_peer_is_reported_with_output() {
    let mut peer = shell("echo 'no such luck' >&2; exit 3");
    let error = peer.wait_for_line(|line| line == "ready", deadline_in(1000)).unwrap_err();
    assert!(matches!(error.kind(), PeerErrorKind::Silent));
    assert!(error.to_string().contains("err| no such luck\n"), "{error}");
    assert_eq!(peer.wait_exit(deadline_in(10)).unwrap().code(), Some(3));
}

#[test]
fn signal_reaches_peer_and_children() {
    let mut peer = shell("sleep 100 & echo started; wait");
    peer.wait_for_line(|line| line == "started", deadline_in(10)).unwrap();
    assert!(matches!(peer.wait_exit(Instant::now()).unwrap_err().kind(), PeerErrorKind::TooLate(_)));
    peer.signal(Signal::TERM).unwrap();
    assert!(!peer.wait_exit(deadline_in(10)).unwrap().success());
    assert!(peer.signal(Signal::TERM).is_err(), "a reaped peer has no group to signal");
}

#[test]
fn dropped_peer_kills_its_children() {
    let mut peer = shell("sleep 100 & echo $!; wait");
    let child = peer.wait_for_line(|_| true, deadline_in(10)).unwrap().parse().unwrap();
    let child = pidfd_open(Pid::from_raw(child).unwrap(), PidfdFlags::empty()).unwrap();
    drop(peer);
    let timeout = Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&child, PollFlags::IN)], Some(&timeout)).unwrap(), 1);
}

#[test]
fn output_is_bounded_and_dropped_lines_counted() {
    let mut peer = shell("seq 1 110000; head -c 160000 /dev/zero | tr '\\0' x");
    peer.wait_exit(deadline_in(30)).unwrap();
    let lines: Vec<String> = peer.output().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), LINES_KEPT + 1);
    assert!(lines.iter().all(|line| line.len() as u64 <= LINE_BYTES + 16));
    assert!(lines[0].contains("(10003 earlier lines)"), "{}", lines[0]);
    let missed = peer.wait_for_line(|line| line == "110000", deadline_in(10)).unwrap_err();
    assert!(matches!(missed.kind(), PeerErrorKind::Missed(10003)), "{:?}", missed.kind());
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| peer.lines()));
    assert!(result.is_err(), "absence from the last lines proves nothing");
}

#[test]
fn missing_program_is_named() {
    let error = Peer::spawn("ghost", Command::new("/no/such/program")).err().unwrap();
    assert!(matches!(error.kind(), PeerErrorKind::NotStarted { .. }));
    assert!(error.to_string().starts_with("peer ghost: cannot start /no/such/program"), "{error}");
}
