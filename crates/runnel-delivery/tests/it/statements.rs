//! Statements and their bytes, as in `vectors/delivery.json` for every language.
//!
//! `RUNNEL_WRITE_VECTORS=1 cargo test -p runnel-delivery --test it statements` rewrites the file.

use std::fs;

use proptest::prelude::*;
use runnel_delivery::{FRAME_BYTES, MAX_NUMBER, STATEMENT_BYTES, Statement, StatementError, StreamId};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/delivery.json");

const A: StreamId = StreamId { stream: 0x0123_4567_89ab_cdef, subscription: 0 };
const B: StreamId = StreamId { stream: u64::MAX, subscription: 0xfffe };

/// Each kind, with values that reveal mistakes.
const STATEMENTS: [Statement; 14] = [
    Statement::Begin { id: A, epoch: 1, from: 1, is_settled: false },
    Statement::Begin { id: B, epoch: u32::MAX, from: MAX_NUMBER, is_settled: true },
    Statement::Skip { id: A, to: 0x0102_0304_0506_0708 },
    Statement::Skip { id: B, to: MAX_NUMBER },
    Statement::Reached { id: A, epoch: 0x0a0b_0c0d, next: 5 },
    Statement::Reached { id: B, epoch: 1, next: MAX_NUMBER },
    Statement::Number { id: A, next: 1000 },
    Statement::Number { id: B, next: 1 },
    Statement::Leave { id: A, epoch: 2, from: 9 },
    Statement::Ask { id: A },
    Statement::Return { id: B },
    Statement::Standby { id: A, epoch: 3 },
    Statement::Needed { id: B },
    Statement::Resent { id: A, at: 0x8000_0001, number: 5 },
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn vector(statement: &Statement) -> String {
    let (kind, epoch, number, is_settled) = match *statement {
        Statement::Begin { epoch, from, is_settled, .. } => ("begin", epoch, from, is_settled),
        Statement::Skip { to, .. } => ("skip", 0, to, false),
        Statement::Reached { epoch, next, .. } => ("reached", epoch, next, false),
        Statement::Number { next, .. } => ("number", 0, next, false),
        Statement::Leave { epoch, from, .. } => ("leave", epoch, from, false),
        Statement::Ask { .. } => ("ask", 0, 1, false),
        Statement::Return { .. } => ("return", 0, 1, false),
        Statement::Standby { epoch, .. } => ("standby", epoch, 1, false),
        Statement::Needed { .. } => ("needed", 0, 1, false),
        Statement::Resent { at, number, .. } => ("resent", at, number, false),
    };
    let StreamId { stream, subscription } = statement.id();
    let fields = format!("\"subscription\":{subscription},\"epoch\":{epoch},\"stream\":\"{stream:016x}\"");
    let value = format!("\"kind\":\"{kind}\",{fields},\"number\":{number},\"settled\":{is_settled}");
    format!(
        "{{{value},\n\"bytes\":\"{}\",\n\"frame\":\"{}\"}}",
        hex(&statement.encode()),
        hex(&statement.encode_frame())
    )
}

#[test]
fn statements_have_the_bytes_of_the_vectors() {
    let vectors: Vec<String> = STATEMENTS.iter().map(vector).collect();
    let text = format!("[\n{}\n]\n", vectors.join(",\n"));
    if std::env::var_os("RUNNEL_WRITE_VECTORS").is_some() {
        fs::write(FILE, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(FILE).unwrap(), text);
}

/// The page that documents the bytes has a row for each kind.
#[test]
fn kinds_are_documented() {
    let page = include_str!("../../../../docs/ipc.md");
    for statement in STATEMENTS {
        let (kind, name) = (statement.encode()[0], format!("{statement:?}"));
        let name = name.split(' ').next().unwrap_or_default();
        let sender = match statement {
            Statement::Reached { .. }
            | Statement::Ask { .. }
            | Statement::Return { .. }
            | Statement::Standby { .. }
            | Statement::Needed { .. } => "subscriber",
            _ => "publisher",
        };
        let row = format!("\n| {kind} {name} | {sender} |");
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn begin_has_these_bytes() {
    let begin =
        Statement::Begin { id: StreamId { stream: 2, subscription: 3 }, epoch: 4, from: 5, is_settled: true };
    let bytes = [1, 1, 3, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(begin.encode(), bytes);
    assert_eq!(begin.encode_frame()[..4], [0xff; 4]);
    assert_eq!(begin.encode_frame()[4..], bytes);
}

#[test]
fn statements_are_read_as_written() {
    for statement in STATEMENTS {
        assert_eq!(Statement::parse(&statement.encode()), Ok(statement));
        assert_eq!(Statement::parse_frame(&statement.encode_frame()), Ok(statement));
    }
}

#[test]
fn unknown_flags_are_ignored() {
    let mut bytes = STATEMENTS[0].encode();
    bytes[1] |= 0xfe;
    assert_eq!(Statement::parse(&bytes), Ok(STATEMENTS[0]));
}

#[test]
fn malformed_statements_are_refused() {
    let begin = STATEMENTS[0].encode();
    let with = |index: usize, value: u8| {
        let mut bytes = begin;
        bytes[index] = value;
        Statement::parse(&bytes)
    };
    assert_eq!(Statement::parse(&[]), Err(StatementError::Length(0)));
    assert_eq!(Statement::parse(&begin[..23]), Err(StatementError::Length(23)));
    assert_eq!(Statement::parse(&[0; 25]), Err(StatementError::Length(25)));
    assert_eq!(with(0, 0), Err(StatementError::UnknownKind(0)));
    assert_eq!(with(0, 11), Err(StatementError::UnknownKind(11)));
    assert_eq!(with(4, 0), Err(StatementError::NoEpoch));
    assert_eq!(with(16, 0), Err(StatementError::NumberOutOfRange(0)));
    assert_eq!(with(23, 0x80), Err(StatementError::NumberOutOfRange(1 << 63 | 1)));
}

#[test]
fn malformed_frames_are_refused() {
    let frame = STATEMENTS[0].encode_frame();
    assert_eq!(Statement::parse_frame(&frame[..3]), Err(StatementError::Length(3)));
    assert_eq!(Statement::parse_frame(&frame[..27]), Err(StatementError::Length(27)));
    let mut message = frame;
    message[0] = 24;
    assert_eq!(Statement::parse_frame(&message), Err(StatementError::NotMarked(0xffff_ff18)));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = Statement::parse_frame(&bytes);
        if let Ok(statement) = Statement::parse(&bytes) {
            prop_assert_eq!(bytes.len(), STATEMENT_BYTES);
            prop_assert_eq!(Statement::parse(&statement.encode()), Ok(statement));
        }
    }

    #[test]
    fn any_24_bytes_are_a_statement_or_an_error(bytes in any::<[u8; STATEMENT_BYTES]>(), kind in 0..12u8) {
        let mut bytes = bytes;
        bytes[0] = kind;
        if let Ok(statement) = Statement::parse(&bytes) {
            let frame = statement.encode_frame();
            prop_assert_eq!(frame.len(), FRAME_BYTES);
            prop_assert_eq!(Statement::parse_frame(&frame), Ok(statement));
        }
    }
}
