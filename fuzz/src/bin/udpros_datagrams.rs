//! UDPROS datagrams: arbitrary ones, and fragments that are lost, duplicated or reordered. Reassembled messages have at most
//! the received bytes, and valid fragments give only sent messages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_ros1::tcpros::LENGTH;
use runnel_ros1::udpros::{Fragmenter, HEADER_LEN, Reassembler};

const LINK: u32 = 1;

/// Splits the input into length-prefixed rows.
fn rows(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = data.split_first()?;
        let (row, later) = rest.split_at(usize::from(*length).min(rest.len()));
        data = later;
        Some(row)
    })
}

/// Reassembles arbitrary datagrams.
fn check_arbitrary(data: &[u8]) {
    let (mut reassembler, mut arrived, mut reassembled) = (Reassembler::new(LINK), 0, 0);
    for datagram in rows(data) {
        let step = reassembler.take(datagram, || vec![0xAA; 3]);
        arrived += datagram.len();
        reassembled += step.message.map_or(0, |message| HEADER_LEN + LENGTH + message.len());
        // At most all message numbers, the incomplete message and the new one.
        assert!(step.lost <= 257, "{} lost with one datagram", step.lost);
    }
    assert!(reassembled <= arrived);
}

/// Reassembles messages whose fragments arrive, are lost, duplicated or delayed, as a byte of the input determines.
fn check_lossy(data: &[u8]) {
    let (mut fragmenter, mut reassembler) = (Fragmenter::new(LINK, 0), Reassembler::new(LINK));
    let (mut fates, mut held) = (data.iter(), None);
    let (mut sent, mut received, mut lost) = (Vec::new(), Vec::new(), 0);
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
                let step = reassembler.take(&datagram, Vec::new);
                received.extend(step.message);
                lost += step.lost;
            }
        }
        sent.push(message);
    }
    // Received messages were sent, in that order.
    let mut remaining = sent.iter();
    assert!(
        received.iter().all(|message| remaining.any(|sent| *sent == &message[..])),
        "received a message that was not sent"
    );
    if sent.len() < 200 {
        assert!(
            received.len() as u64 + lost <= sent.len() as u64,
            "{lost} lost and {} received",
            received.len()
        );
    }
}

fuzz_target!(|data: &[u8]| {
    check_arbitrary(data);
    check_lossy(data);
});
