//! Fake embeddedRTPS peer on the sockets of a host.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use runnel_testkit::embedded_rtps::{EmbeddedRtps, GROUP};
use runnel_testkit::hosts::Host;

/// See the module.
pub struct Board {
    peer: Arc<Mutex<EmbeddedRtps>>,
    writers: BTreeMap<String, usize>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Board {
    /// Starts a peer with a writer `NAME_from_board` and a reader `NAME_to_board` for each topic.
    pub fn start(host: &Host, ip: Ipv4Addr, topics: &[(&str, &str)]) -> Self {
        let mut peer = EmbeddedRtps::new(ip, 24);
        let mut writers = BTreeMap::new();
        for (name, dds_type) in topics {
            let topic = format!("rt/{name}_from_board");
            writers.insert(topic.clone(), peer.create_writer(&topic, dds_type));
            peer.create_reader(&format!("rt/{name}_to_board"), dds_type);
        }
        let sockets = host.run(|| {
            let group = UdpSocket::bind(GROUP).unwrap();
            group.join_multicast_v4(GROUP.ip(), &ip).unwrap();
            let [metatraffic, user] = EmbeddedRtps::ports();
            let own = [metatraffic, user].map(|port| UdpSocket::bind(SocketAddrV4::new(ip, port)).unwrap());
            [group, own[0].try_clone().unwrap(), own[1].try_clone().unwrap()]
        });
        sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let (peer, ended) = (Arc::new(Mutex::new(peer)), Arc::new(AtomicBool::new(false)));
        let (served, stop) = (Arc::clone(&peer), Arc::clone(&ended));
        let thread = std::thread::spawn(move || serve(&served, &sockets, &stop));
        Self { peer, writers, ended, thread: Some(thread) }
    }

    /// Publishes a payload on one of its topics.
    pub fn publish(&self, topic: &str, payload: &[u8]) {
        self.peer.lock().unwrap().publish(self.writers[topic], payload);
    }

    pub fn has_received(&self, topic: &str, payload: &[u8]) -> bool {
        let peer = self.peer.lock().unwrap();
        // Samples are padded to a multiple of four bytes.
        let is_it = |bytes: &[u8]| bytes.starts_with(payload) && bytes.len() < payload.len() + 4;
        peer.received.iter().any(|(of, bytes)| of == topic && is_it(bytes))
    }

    /// The datagrams it dropped, with reasons.
    pub fn dropped(&self) -> Vec<String> {
        self.peer.lock().unwrap().dropped.clone()
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Serves the sockets for multicast, metatraffic and user data.
fn serve(peer: &Mutex<EmbeddedRtps>, sockets: &[UdpSocket; 3], ended: &AtomicBool) {
    let begun = Instant::now();
    let mut datagram = vec![0; 65536];
    while !ended.load(Ordering::SeqCst) {
        let mut peer = peer.lock().unwrap();
        for socket in sockets {
            loop {
                match socket.recv_from(&mut datagram) {
                    Ok((len, _)) => peer.handle_datagram(&datagram[..len]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        peer.handle_timeout(begun.elapsed());
        while let Some(sent) = peer.poll_transmit() {
            // Multicast datagrams leave by the metatraffic socket.
            let [_, metatraffic, user] = sockets;
            let by = if sent.from == EmbeddedRtps::ports()[1] { user } else { metatraffic };
            let _ = by.send_to(&sent.bytes, sent.to);
        }
        drop(peer);
        std::thread::sleep(Duration::from_millis(1));
    }
}
