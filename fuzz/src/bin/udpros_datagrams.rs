//! Datagrams of a link of UDPROS, from anybody and of messages that are cut and arrive in part, twice or late: what comes
//! of them is no more than what arrived, and of sound ones only what was sent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_ros1::tcpros::LENGTH;
use runnel_ros1::udpros::{Fragmenter, HEADER_LEN, Reassembler};

const LINK: u32 = 1;

/// Rows of a length and so many bytes.
fn rows(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = data.split_first()?;
        let (row, later) = rest.split_at(usize::from(*length).min(rest.len()));
        data = later;
        Some(row)
    })
}

/// Datagrams that say what they like.
fn hostile(data: &[u8]) {
    let (mut reassembler, mut arrived, mut given) = (Reassembler::new(LINK), 0, 0);
    for datagram in rows(data) {
        let taken = reassembler.take(datagram, || vec![0xAA; 3]);
        arrived += datagram.len();
        given += taken.message.map_or(0, |message| HEADER_LEN + LENGTH + message.len());
        // As many as there are numbers, the one under way and the one that began.
        assert!(taken.lost <= 257, "{} lost with one datagram", taken.lost);
    }
    assert!(given <= arrived);
}

/// Messages of which each datagram's fate is a byte of the input: it arrives, is lost, comes twice or after the next.
fn unlucky(data: &[u8]) {
    let (mut fragmenter, mut reassembler) = (Fragmenter::new(LINK, 0), Reassembler::new(LINK));
    let (mut fates, mut held) = (data.iter(), None);
    let (mut sent, mut heard, mut lost) = (Vec::new(), Vec::new(), 0);
    for message in rows(data) {
        for (head, part) in fragmenter.fragment(message).expect("a short message") {
            let datagram = [head.as_ref(), part].concat();
            let (late, mut arriving) = (held.take(), Vec::new());
            match fates.next().map_or(0, |fate| fate % 8) {
                1 => {}
                2 => arriving = vec![datagram.clone(), datagram],
                3 => held = Some(datagram),
                _ => arriving = vec![datagram],
            }
            for datagram in arriving.into_iter().chain(late) {
                let taken = reassembler.take(&datagram, Vec::new);
                heard.extend(taken.message);
                lost += taken.lost;
            }
        }
        sent.push(message);
    }
    // What is heard was sent, in that order.
    let mut left = sent.iter();
    assert!(heard.iter().all(|message| left.any(|sent| *sent == &message[..])), "heard what was not sent");
    if sent.len() < 200 {
        assert!(heard.len() as u64 + lost <= sent.len() as u64, "{lost} lost and {} heard", heard.len());
    }
}

fuzz_target!(|data: &[u8]| {
    hostile(data);
    unlucky(data);
});
