//! Two peers connected by streams that are split at random places.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::*;

/// One direction of a connection.
#[derive(Debug)]
struct Wire {
    to: (usize, ConnId),
    bytes: VecDeque<u8>,
    closing: bool,
}

/// Peers that listen on ports 1, 2, .., and the bytes in transit between them.
struct Pump {
    peers: Vec<RpcPeer>,
    wires: BTreeMap<(usize, ConnId), Wire>,
    events: Vec<(usize, RpcEvent)>,
    served: usize,
    seed: u64,
}

impl Pump {
    fn new(peers: usize, seed: u64) -> Self {
        let peers = (0..peers).map(|_| RpcPeer::new(RpcConfig::default())).collect();
        Self { peers, wires: BTreeMap::new(), events: Vec::new(), served: 0, seed }
    }

    /// A number below `bound`, by a linear congruential generator.
    fn random(&mut self, bound: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) as usize % bound
    }

    fn call(&mut self, from: usize, to: usize, method: &str, params: &[Value], keep_open: bool) -> CallId {
        let options =
            CallOptions { timeout: Duration::from_secs(5), total_timeout: Duration::from_secs(5), keep_open };
        let server = uri(&format!("http://peer:{}/", to + 1));
        self.peers[from].call(seconds(0), &server, method, params, options)
    }

    /// Runs until nothing moves.
    fn run(&mut self) {
        loop {
            let acted = (0..self.peers.len()).fold(false, |acted, peer| self.act(peer) | acted);
            if !self.deliver() && !acted {
                return;
            }
        }
    }

    /// Carries out the operations of one peer, and answers its calls with their parameters.
    fn act(&mut self, at: usize) -> bool {
        let mut acted = false;
        while let Some(transmit) = self.peers[at].poll_transmit() {
            self.transmit(at, transmit);
            acted = true;
        }
        while let Some(event) = self.peers[at].poll_event() {
            match event {
                RpcEvent::Called { conn, params, .. } => {
                    self.served += 1;
                    self.peers[at].reply(seconds(0), conn, Ok(Value::Array(params)));
                }
                event => self.events.push((at, event)),
            }
            acted = true;
        }
        acted
    }

    fn transmit(&mut self, at: usize, transmit: Transmit) {
        match transmit {
            Transmit::Connect { conn, to } => self.connect(at, conn, usize::from(to.port) - 1),
            Transmit::OpenDatagram { .. } => panic!("calls have no datagrams"),
            Transmit::Send { conn, bytes } => {
                self.wires.entry((at, conn)).and_modify(|wire| wire.bytes.extend(bytes));
            }
            Transmit::Close { conn } => {
                self.wires.entry((at, conn)).and_modify(|wire| wire.closing = true);
            }
        }
    }

    fn connect(&mut self, at: usize, conn: ConnId, far: usize) {
        let accepted =
            self.peers.get_mut(far).and_then(|peer| peer.handle_accepted(seconds(0), client_address()));
        let Some(accepted) = accepted else {
            return self.peers[at].handle_closed(seconds(0), conn, Some("connection refused"));
        };
        let wire = |to| Wire { to, bytes: VecDeque::new(), closing: false };
        self.wires.insert((at, conn), wire((far, accepted)));
        self.wires.insert((far, accepted), wire((at, conn)));
        self.peers[at].handle_connected(seconds(0), conn);
    }

    /// Moves a piece of random size on a random wire; closes a wire that is empty and to be closed.
    fn deliver(&mut self) -> bool {
        let ready: Vec<_> = self
            .wires
            .iter()
            .filter(|(_, wire)| wire.closing || !wire.bytes.is_empty())
            .map(|(end, _)| *end)
            .collect();
        if ready.is_empty() {
            return false;
        }
        let end = ready[self.random(ready.len())];
        let length = self.wires[&end].bytes.len();
        if length == 0 {
            self.cut(end);
        } else {
            let count = 1 + self.random(length);
            let wire = self.wires.get_mut(&end).expect("a wire");
            let ((peer, conn), piece) = (wire.to, wire.bytes.drain(..count).collect::<Vec<u8>>());
            self.peers[peer].handle_data(seconds(0), conn, &piece);
        }
        true
    }

    /// Ends a connection towards the far end of a wire.
    fn cut(&mut self, end: (usize, ConnId)) {
        if let Some(wire) = self.wires.remove(&end) {
            self.wires.remove(&wire.to);
            self.peers[wire.to.0].handle_closed(seconds(0), wire.to.1, None);
        }
    }

    /// The answers that a peer got, in order.
    fn answers(&self, at: usize) -> Vec<(CallId, Value)> {
        let answer = |(peer, event): &(usize, RpcEvent)| match event {
            RpcEvent::Answered { call, result: Ok(value) } if *peer == at => Some((*call, value.clone())),
            _ => None,
        };
        self.events.iter().filter_map(answer).collect()
    }
}

#[test]
fn call_is_repeated_at_restarted_server() {
    let mut pump = Pump::new(2, 1);
    let first = pump.call(0, 1, "a", &[1.into()], true);
    pump.run();
    // The server dies and another takes its place. The client notices only after its next call is sent.
    let second = pump.call(0, 1, "b", &[2.into()], true);
    pump.act(0);
    pump.peers[1] = RpcPeer::new(RpcConfig::default());
    let ends: Vec<_> = pump.wires.keys().filter(|(peer, _)| *peer == 1).copied().collect();
    ends.into_iter().for_each(|end| pump.cut(end));
    pump.run();
    let values = [1, 2].map(|number| Value::Array(vec![number.into()]));
    assert_eq!(pump.answers(0), [first, second].into_iter().zip(values).collect::<Vec<_>>());
    assert!(pump.events.contains(&(0, RpcEvent::KeptConnectionLost)));
}

#[test]
fn peer_can_call_itself() {
    let mut pump = Pump::new(1, 7);
    let call = pump.call(0, 0, "a", &["x".into()], true);
    pump.run();
    assert_eq!(pump.answers(0), [(call, Value::Array(vec!["x".into()]))]);
}

#[test]
fn refused_connection_is_reported_to_caller() {
    let mut pump = Pump::new(1, 7);
    pump.call(0, 5, "a", &[], false);
    pump.run();
    assert!(matches!(
        &pump.events[..],
        [(0, RpcEvent::Answered { result: Err(CallError::Unreachable { why: Some(why), .. }), .. })]
            if why == "connection refused"
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_call_is_answered_once(
        seed: u64,
        calls in proptest::collection::vec((0..2usize, 0..2usize, any::<bool>(), 0..1000usize), 1..20),
    ) {
        let mut pump = Pump::new(2, seed);
        let mut expected = [BTreeMap::new(), BTreeMap::new()];
        for (number, (from, to, keep_open, size)) in (0..).zip(&calls) {
            let params = [Value::Int(number), Value::from("<&>".repeat(*size))];
            let call = pump.call(*from, *to, "echo", &params, *keep_open);
            expected[*from].insert(call, Value::Array(params.to_vec()));
        }
        pump.run();
        for (peer, expected) in expected.iter().enumerate() {
            prop_assert_eq!(pump.answers(peer).len(), expected.len());
            prop_assert_eq!(&BTreeMap::from_iter(pump.answers(peer)), expected);
            prop_assert_eq!(pump.peers[peer].poll_timeout(), None);
        }
        prop_assert_eq!((pump.served, pump.events.len()), (calls.len(), calls.len()));
    }

    #[test]
    fn random_bytes_never_panic(
        pieces in proptest::collection::vec((any::<bool>(), any::<Vec<u8>>()), 0..20),
    ) {
        let mut peer = RpcPeer::new(RpcConfig::default());
        let served = peer.handle_accepted(seconds(0), client_address()).expect("accepted");
        let options = CallOptions { timeout: Duration::from_secs(5), total_timeout: Duration::from_secs(5), keep_open: true };
        peer.call(seconds(0), &uri("http://a:1"), "a", &[], options);
        let called = match peer.poll_transmit() {
            Some(Transmit::Connect { conn, .. }) => conn,
            other => panic!("a connection, not {other:?}"),
        };
        peer.handle_connected(seconds(0), called);
        for (server_side, bytes) in pieces {
            peer.handle_data(seconds(0), if server_side { served } else { called }, &bytes);
        }
        peer.handle_timeout(seconds(20));
        prop_assert_eq!(peer.poll_timeout(), None);
    }
}
