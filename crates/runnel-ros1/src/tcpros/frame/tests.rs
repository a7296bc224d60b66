use super::*;
use runnel_core::bounds::MAX_MESSAGE;

fn read_all(reader: &mut FrameReader, mut input: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while !input.is_empty() {
        frames.extend(reader.take(&mut input, Vec::new).unwrap());
    }
    frames
}

#[test]
fn frames_parse_in_any_pieces() {
    let stream = [framed("ab"), framed(""), framed("cde")].concat();
    for step in 1..stream.len() {
        let mut reader = FrameReader::new(100);
        let frames: Vec<_> = stream.chunks(step).flat_map(|part| read_all(&mut reader, part)).collect();
        assert_eq!(frames, [b"ab".to_vec(), b"".to_vec(), b"cde".to_vec()], "step {step}");
    }
}

#[test]
fn statements_parse_between_frames_in_any_pieces() {
    let statement = [&STATEMENT_MARK.to_le_bytes()[..], &[7; STATEMENT]].concat();
    let stream = [&statement[..], &framed("ab"), &statement, &statement, &framed("")].concat();
    for step in 1..=stream.len() {
        let fixed = FrameReader::new(100).with_statements(true);
        let (mut reader, mut parts) = (fixed, Vec::new());
        for mut bytes in stream.chunks(step) {
            while !bytes.is_empty() {
                parts.extend(reader.take_item(&mut bytes, Vec::new).unwrap());
            }
        }
        let (message, statement_part) =
            (|text: &[u8]| StreamItem::Message(text.to_vec()), StreamItem::Statement([7; STATEMENT]));
        let expected =
            [statement_part.clone(), message(b"ab"), statement_part.clone(), statement_part, message(b"")];
        assert_eq!(parts, expected, "step {step}");
    }
}

#[test]
fn statement_without_agreement_is_refused() {
    let mut reader = FrameReader::new(100);
    assert!(reader.take_item(&mut &STATEMENT_MARK.to_le_bytes()[..], Vec::new).is_err());
}

#[test]
fn length_beyond_limit_is_refused() {
    let mut reader = FrameReader::new(10);
    let error = reader.take(&mut &framed("01234567890")[..], Vec::new).unwrap_err();
    assert_eq!(error, FrameError::BeyondLimit(LengthBeyondLimit { claimed: 11, limit: 10 }));
}

#[test]
fn fixed_size_refuses_other_announced_lengths() {
    for announced in [0u32, 2, 900_000_000, u32::MAX] {
        let mut reader = FrameReader::with_accepted_length(AcceptedLength::of_type(Some(1), MAX_MESSAGE));
        let error = reader.take(&mut &announced.to_le_bytes()[..], Vec::new).unwrap_err();
        assert_eq!(error, FrameError::WrongLength { announced: announced as usize, fixed: 1 });
        assert_eq!(reader.reserved(), 0);
    }
    let mut reader = FrameReader::with_accepted_length(AcceptedLength::of_type(Some(1), MAX_MESSAGE));
    assert_eq!(reader.take(&mut &framed("x")[..], Vec::new).unwrap().unwrap(), b"x");
}

#[test]
fn reserved_memory_follows_received_bytes() {
    let mut reader = FrameReader::new(MAX_MESSAGE);
    reader.take(&mut &900_000_000u32.to_le_bytes()[..], Vec::new).unwrap();
    for part in [1, 10_000, 100_000, 3_000_000, 20_000_000, 1] {
        reader.take(&mut &vec![0; part][..], Vec::new).unwrap();
        reader.receive_buffer().unwrap();
        let frame = reader.incomplete().unwrap();
        let most = frame.arrived + frame.arrived.clamp(FIRST_STEP, LONGEST_STEP) + LONGEST_STEP;
        assert!(frame.reserved <= most, "{frame:?}");
    }
}

#[test]
fn memory_never_exceeds_announced_length() {
    let mut reader = FrameReader::new(MAX_MESSAGE);
    reader.take(&mut &1_000_001u32.to_le_bytes()[..], Vec::new).unwrap();
    while reader.incomplete().is_some() {
        assert!(reader.reserved() <= 1_000_001);
        let count = reader.receive_buffer().unwrap().len();
        reader.advance(count);
    }
}

#[test]
fn incomplete_frame_counts_delivered_bytes() {
    let mut reader = FrameReader::new(100);
    let stream = [framed("ab"), framed("cd")].concat();
    let mut before = |bytes: &[u8]| {
        read_all(&mut reader, bytes);
        reader.incomplete().map(|frame| (frame.number, frame.delivered))
    };
    assert_eq!(
        [before(&stream[..5]), before(&stream[5..11]), before(&stream[11..])],
        [Some((0, 0)), Some((1, 2)), None]
    );
}

#[test]
fn announced_length_reserves_little() {
    let mut reader = FrameReader::new(MAX_MESSAGE);
    reader.take(&mut &900_000_000u32.to_le_bytes()[..], Vec::new).unwrap();
    assert_eq!(reader.receive_buffer().unwrap().len(), FIRST_STEP);
}

#[test]
fn long_message_is_received_without_copy() {
    let message = vec![7u8; 300_000];
    let mut reader = FrameReader::new(MAX_MESSAGE);
    assert_eq!(reader.take(&mut &300_000u32.to_le_bytes()[..], || vec![1; 10]).unwrap(), None);
    let mut whole = None;
    while whole.is_none() {
        let buffer = reader.receive_buffer().unwrap();
        buffer.fill(7);
        let count = buffer.len();
        whole = reader.advance(count);
    }
    assert_eq!(whole.unwrap(), message);
    assert!(reader.receive_buffer().is_none());
}

#[test]
fn unframed_message_has_external_length() {
    let mut reader = FrameReader::new(5);
    let too_long = FrameError::BeyondLimit(LengthBeyondLimit { claimed: 6, limit: 5 });
    assert_eq!(reader.begin_unframed(6, Vec::new), Err(too_long));
    assert!(reader.is_between_frames());
    for text in ["", "abcde"] {
        reader.begin_unframed(text.len(), Vec::new).unwrap();
        assert_eq!(reader.take(&mut text.as_bytes(), Vec::new), Ok(Some(text.as_bytes().to_vec())));
    }
    assert!(reader.is_between_frames());
}

#[test]
fn spare_buffer_is_reused() {
    let spare = vec![9u8; 64];
    let place = spare.as_ptr();
    let mut reader = FrameReader::new(100);
    let message = reader.take(&mut &framed("abc")[..], || spare).unwrap().unwrap();
    assert_eq!((message.as_slice(), message.as_ptr()), (&b"abc"[..], place));
}
