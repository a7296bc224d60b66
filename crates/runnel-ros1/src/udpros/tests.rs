use super::*;

const LINK: u32 = 7;

/// A message of `length` bytes, each of which is its own index.
fn message(length: usize) -> Vec<u8> {
    (0..length).map(|place| place as u8).collect()
}

fn datagrams(fragmenter: &mut Fragmenter, message: &[u8]) -> Vec<Vec<u8>> {
    let fragment = fragmenter.fragment(message).expect("not too long");
    fragment.map(|(head, part)| [head.as_ref(), part].concat()).collect()
}

fn header(op: Op, id: u8, block: u16) -> DatagramHeader {
    DatagramHeader { link: LINK, op, id, block }
}

fn datagram(op: Op, id: u8, block: u16, part: &[u8]) -> Vec<u8> {
    [&header(op, id, block).emit()[..], part].concat()
}

/// A message in one datagram.
fn single(id: u8) -> Vec<u8> {
    datagram(Op::Data0, id, 1, &[1, 0, 0, 0, id])
}

fn take(reassembler: &mut Reassembler, datagram: &[u8]) -> (Option<Vec<u8>>, u64) {
    let TakeResult { message, lost } = reassembler.take(datagram, Vec::new);
    (message, lost)
}

/// The messages that complete, and the number of lost ones.
fn take_all<'a>(datagrams: impl IntoIterator<Item = &'a Vec<u8>>) -> (Vec<Vec<u8>>, u64) {
    let (mut reassembler, mut messages, mut lost) = (Reassembler::new(LINK), Vec::new(), 0);
    for datagram in datagrams {
        let taken = reassembler.take(datagram, || vec![0xAA; 3]);
        messages.extend(taken.message);
        lost += taken.lost;
    }
    (messages, lost)
}

#[test]
fn headers_match_roscpp() {
    let table: [(&[u8; HEADER_LEN], DatagramHeader); 4] = [
        // Recorded from roscpp: a message of 5000 letters, and one of 150 000.
        (b"\0\0\0\0\0\x01\x04\0", DatagramHeader { link: 0, op: Op::Data0, id: 1, block: 4 }),
        (b"\0\0\0\0\x01\x02\x03\0", DatagramHeader { link: 0, op: Op::DataN, id: 2, block: 3 }),
        (b"\0\0\0\0\0\x01\x65\0", DatagramHeader { link: 0, op: Op::Data0, id: 1, block: 101 }),
        (b"\x04\x03\x02\x01\x03\xff\x02\x01", {
            DatagramHeader { link: 0x0102_0304, op: Op::Other(3), id: 255, block: 0x0102 }
        }),
    ];
    for (bytes, header) in table {
        assert_eq!(DatagramHeader::parse(bytes), Some((header, &[][..])));
        assert_eq!(header.emit(), *bytes);
    }
    for short in 0..HEADER_LEN {
        assert_eq!(DatagramHeader::parse(&[0; HEADER_LEN][..short]), None);
    }
}

#[test]
fn fragmentation_matches_roscpp() {
    // 5008 bytes in datagrams of 1500, of which 1492 carry the message.
    let fragment = datagrams(&mut Fragmenter::new(LINK, 1500), &message(5004));
    let lengths: Vec<usize> = fragment.iter().map(Vec::len).collect();
    assert_eq!(lengths, [1500, 1500, 1500, 540]);
    let headers: Vec<_> = fragment.iter().map(|bytes| DatagramHeader::parse(bytes).unwrap().0).collect();
    let following = |block| header(Op::DataN, 1, block);
    assert_eq!(headers, [header(Op::Data0, 1, 4), following(1), following(2), following(3)]);
}

#[test]
fn fragments_reassemble_at_every_boundary_length() {
    let payload_len = MIN_DATAGRAM_LEN - HEADER_LEN;
    for length in (0..4 * payload_len).chain([60_000]) {
        let mut fragmenter = Fragmenter::new(LINK, MIN_DATAGRAM_LEN);
        let message = message(length);
        let fragment = datagrams(&mut fragmenter, &message);
        assert_eq!(fragment.len(), (LENGTH + length).div_ceil(payload_len));
        assert!(fragment.iter().all(|datagram| datagram.len() <= MIN_DATAGRAM_LEN));
        assert_eq!(take_all(&fragment), (vec![message], 0), "{length} bytes");
    }
}

#[test]
fn ids_wrap_after_255() {
    let mut fragmenter = Fragmenter::new(LINK, DATAGRAM_LEN_IPV4);
    let fragment: Vec<_> = (0..600).flat_map(|_| datagrams(&mut fragmenter, &message(3))).collect();
    let (messages, lost) = take_all(&fragment);
    assert_eq!((messages.len(), lost), (600, 0));
}

#[test]
fn too_long_message_is_refused_and_uses_id() {
    let mut fragmenter = Fragmenter::new(LINK, MIN_DATAGRAM_LEN);
    let limit = (MIN_DATAGRAM_LEN - HEADER_LEN) * 65_535;
    let before = datagrams(&mut fragmenter, &message(1));
    let longest = vec![0; limit - LENGTH];
    assert_eq!(fragmenter.fragment(&longest).expect("just short enough").count(), 65_535);
    let too_long = vec![0; limit - LENGTH + 1];
    let refused = fragmenter.fragment(&too_long).err();
    assert_eq!(refused, Some(TooLong { bytes: limit + 1, limit }));
    let after = datagrams(&mut fragmenter, &message(2));
    let (messages, lost) = take_all(before.iter().chain(&after));
    assert_eq!((messages.len(), lost), (2, 2), "the subscriber counts both that it did not get");
}

#[test]
fn datagram_limits_are_clamped() {
    for (requested, longest) in [
        (0, MIN_DATAGRAM_LEN),
        (MIN_DATAGRAM_LEN, MIN_DATAGRAM_LEN),
        (1000, 1000),
        (1 << 20, MAX_DATAGRAM_LEN),
    ] {
        let fragment = datagrams(&mut Fragmenter::new(LINK, requested), &message(200_000));
        assert_eq!(fragment[0].len(), longest);
    }
}

#[test]
fn single_loss_costs_one_message_and_is_counted() {
    let mut fragmenter = Fragmenter::new(LINK, MIN_DATAGRAM_LEN);
    let messages: Vec<Vec<Vec<u8>>> =
        (0..4).map(|_| datagrams(&mut fragmenter, &message(3 * MIN_DATAGRAM_LEN))).collect();
    let all = messages.concat();
    // The loss of the first message is unknown: a late subscriber has lost nothing. That of the last is unknown until
    // another follows.
    let (first, last) = (messages[0].len(), all.len() - messages[3].len());
    for missing in first..last {
        let rest =
            all.iter().enumerate().filter(|(place, _)| *place != missing).map(|(_, datagram)| datagram);
        let (whole, lost) = take_all(rest);
        assert_eq!((whole.len(), lost), (3, 1), "without datagram {missing}");
        assert!(whole.iter().all(|whole| *whole == message(3 * MIN_DATAGRAM_LEN)));
    }
}

#[test]
fn id_gap_counts_lost_messages() {
    assert_eq!(take_all(&[1, 2, 5, 6].map(single)).1, 2);
    assert_eq!(take_all(&[254, 255, 0, 1].map(single)).1, 0);
    assert_eq!(take_all(&[250, 3].map(single)).1, 8);
    let after_long_silence = take_all(&[1, 201, 202].map(single));
    assert_eq!((after_long_silence.0.len(), after_long_silence.1), (3, 199));
}

#[test]
fn duplicate_and_late_datagrams_are_ignored() {
    assert_eq!(take_all(&[1, 1, 2, 2, 3].map(single)), ([1, 2, 3].map(|id| vec![id]).into(), 0));
    // Id 2 arrives after 3: it was counted as lost, and messages stay in order.
    assert_eq!(take_all(&[1, 3, 2, 4].map(single)), ([1, 3, 4].map(|id| vec![id]).into(), 1));
    let fragment = datagrams(&mut Fragmenter::new(LINK, MIN_DATAGRAM_LEN), &message(2 * MIN_DATAGRAM_LEN));
    let doubled: Vec<_> = fragment.iter().flat_map(|datagram| [datagram, datagram]).collect();
    let (messages, lost) = take_all(doubled);
    assert_eq!((messages.len(), lost), (1, 0));
}

#[test]
fn reordered_datagrams_lose_their_message() {
    let mut fragment =
        datagrams(&mut Fragmenter::new(LINK, MIN_DATAGRAM_LEN), &message(3 * MIN_DATAGRAM_LEN));
    fragment.swap(1, 2);
    assert_eq!(take_all(&fragment), (Vec::new(), 1));
}

#[test]
fn foreign_and_empty_datagrams_are_ignored() {
    let mut reassembler = Reassembler::new(LINK);
    assert_eq!(take(&mut reassembler, &datagram(Op::Data0, 1, 2, &[5, 0, 0, 0, 1])), (None, 0));
    let other = DatagramHeader { link: LINK + 1, ..header(Op::Data0, 9, 1) }.emit();
    let passed_over: [&[u8]; 6] = [
        &[],
        &[0; HEADER_LEN - 1],
        &other,
        &header(Op::Other(2), 1, 1).emit(),
        &header(Op::Other(255), 1, 1).emit(),
        &header(Op::DataN, 2, 1).emit(),
    ];
    for bytes in passed_over {
        assert_eq!(take(&mut reassembler, bytes), (None, 0), "{bytes:?}");
    }
    let rest = datagram(Op::DataN, 1, 1, &[2, 3, 4, 5]);
    assert_eq!(take(&mut reassembler, &rest), (Some(vec![1, 2, 3, 4, 5]), 0));
}

#[test]
fn message_of_wrong_length_is_lost() {
    let begin = |blocks, part: &[u8]| datagram(Op::Data0, 1, blocks, part);
    let follow = |block, part: &[u8]| datagram(Op::DataN, 1, block, part);
    let rows: [(&str, Vec<Vec<u8>>); 8] = [
        ("no datagrams", vec![begin(0, &[0, 0, 0, 0])]),
        ("no length", vec![begin(1, &[])]),
        ("part of a length", vec![begin(1, &[1, 0, 0])]),
        ("too short", vec![begin(1, &[2, 0, 0, 0, 1])]),
        ("too long", vec![begin(1, &[1, 0, 0, 0, 1, 2])]),
        ("whole before the last datagram", vec![begin(2, &[1, 0, 0, 0, 1]), follow(1, &[])]),
        ("beyond what is accepted", vec![begin(2, &[0xff; 4])]),
        ("too long in the second", vec![begin(2, &[2, 0, 0, 0, 1]), follow(1, &[2, 3])]),
    ];
    for (what, datagrams) in rows {
        assert_eq!(take_all(&datagrams), (Vec::new(), 1), "{what}");
        let next = single(2);
        assert_eq!(take_all(datagrams.iter().chain([&next])), (vec![vec![2]], 1), "{what}, then a valid one");
    }
}

#[test]
fn length_may_span_datagrams() {
    let row = [
        datagram(Op::Data0, 1, 3, &[]),
        datagram(Op::DataN, 1, 1, &[2, 0]),
        datagram(Op::DataN, 1, 2, &[0, 0, 8, 9]),
    ];
    assert_eq!(take_all(&row), (vec![vec![8, 9]], 0));
}

#[test]
fn announced_length_reserves_nothing() {
    let mut reassembler = Reassembler::new(LINK);
    let claim = u32::try_from(MAX_MESSAGE).unwrap().to_le_bytes();
    assert_eq!(take(&mut reassembler, &datagram(Op::Data0, 1, u16::MAX, &claim)), (None, 0));
    let Some(PartialMessage { reader, .. }) = &reassembler.partial else { panic!("a message is under way") };
    assert_eq!(reader.reserved(), 0);
    assert_eq!(take(&mut reassembler, &datagram(Op::DataN, 1, 1, &[1; 1000])), (None, 0));
    let Some(PartialMessage { reader, .. }) = &reassembler.partial else { panic!("a message is under way") };
    assert!(reader.reserved() < 2000, "{} bytes", reader.reserved());
}

#[test]
fn message_of_other_fixed_size_is_lost() {
    let accepted = AcceptedLength::of_type(Some(1), MAX_MESSAGE);
    let mut reassembler = Reassembler::new(LINK).with_accepted_length(accepted);
    assert_eq!(take(&mut reassembler, &single(1)), (Some(vec![1]), 0));
    assert_eq!(take(&mut reassembler, &datagram(Op::Data0, 2, 9, &[0, 0, 0, 64])), (None, 1));
    assert_eq!(reassembler.incomplete(), None);
}

#[test]
fn incomplete_message_can_be_abandoned() {
    let mut reassembler = Reassembler::new(LINK);
    take(&mut reassembler, &datagram(Op::Data0, 1, 2, &[4, 0, 0, 0, 1, 2]));
    let frame = reassembler.incomplete().unwrap();
    assert_eq!((frame.arrived, frame.length), (2, 4));
    assert_eq!((reassembler.abandon(), reassembler.abandon()), (1, 0));
    assert_eq!(take(&mut reassembler, &datagram(Op::DataN, 1, 1, &[3, 4])), (None, 0));
    assert_eq!(take(&mut reassembler, &single(2)), (Some(vec![2]), 0));
}
