//! Tests of reassembly.

use super::*;
use crate::wire::{EntityId, Message, Submessage, VendorId, begin};

const SAMPLE: [u8; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

/// Adds a fragment of three bytes of a sample.
fn take(fragments: &mut Fragments, number: i64, fragment: u32, sample: &[u8]) -> Option<Complete> {
    let mut out = vec![];
    begin(&mut out, VendorId::RUNNEL, crate::wire::GuidPrefix::UNKNOWN);
    let ends = (EntityId::UNKNOWN, EntityId::user_writer(1));
    DataFrag::emit(&mut out, ends, SequenceNumber(number), &[], sample, (fragment, 3));
    let Some(Ok(Submessage::DataFrag(frag))) = Message::parse(&out).unwrap().submessages().next() else {
        panic!("no fragment");
    };
    fragments.take(Instant(0), &frag, None, &Budget::new(1 << 20))
}

#[test]
fn last_fragment_with_own_size_completes_sample() {
    let take = |fragments: &mut Fragments, fragment: u32, bytes: &[u8]| {
        let frag = DataFrag {
            reader: EntityId::UNKNOWN,
            writer: EntityId::user_writer(1),
            number: SequenceNumber(1),
            first_fragment: fragment,
            fragments: 1,
            fragment_len: bytes.len() as u16,
            sample_len: 10,
            inline_qos: crate::wire::Parameters::none(),
            is_key: false,
            bytes,
        };
        fragments.take(Instant(0), &frag, None, &Budget::new(1 << 20))
    };
    let mut fragments = Fragments::default();
    assert!(take(&mut fragments, 1, &SAMPLE[..4]).is_none());
    assert!(take(&mut fragments, 2, &SAMPLE[4..8]).is_none());
    // Neither another number nor another length is the last.
    assert!(
        take(&mut fragments, 2, &SAMPLE[8..]).is_none() && take(&mut fragments, 3, &SAMPLE[9..]).is_none()
    );
    assert_eq!(take(&mut fragments, 3, &SAMPLE[8..]).unwrap().bytes, SAMPLE);
}

#[test]
fn fragments_in_any_order_complete_sample() {
    let mut fragments = Fragments::default();
    for fragment in [4, 2, 2, 1] {
        assert_eq!(take(&mut fragments, 7, fragment, &SAMPLE), None);
    }
    let complete = take(&mut fragments, 7, 3, &SAMPLE).unwrap();
    assert_eq!((&complete.bytes[..], fragments.bytes()), (&SAMPLE[..], 0));
}

#[test]
fn missing_fragments_end_at_highest_known() {
    let mut fragments = Fragments::default();
    take(&mut fragments, 7, 2, &SAMPLE);
    assert!(fragments.missing(SequenceNumber(7), false).unwrap().iter().eq([1]));
    fragments.extend_known_to_all(SequenceNumber(7));
    assert!(fragments.missing(SequenceNumber(7), false).unwrap().iter().eq([1, 3, 4]));
    assert_eq!(fragments.missing(SequenceNumber(8), false), None);
}

#[test]
fn request_spans_at_most_256_fragments() {
    let mut fragments = Fragments::default();
    let long = vec![1; 3000];
    take(&mut fragments, 1, 2, &long);
    take(&mut fragments, 1, 1000, &long);
    let missing = fragments.missing(SequenceNumber(1), false).unwrap();
    assert_eq!((missing.base, missing.iter().count(), missing.iter().max()), (1, 255, Some(256)));
}

#[test]
fn fragment_of_other_size_is_ignored() {
    let mut fragments = Fragments::default();
    take(&mut fragments, 7, 1, &SAMPLE);
    assert_eq!(take(&mut fragments, 7, 2, &[9; 6]), None);
    for fragment in [3, 4] {
        assert_eq!(take(&mut fragments, 7, fragment, &SAMPLE), None, "the second is missing still");
    }
    assert_eq!(take(&mut fragments, 7, 2, &SAMPLE).unwrap().bytes, SAMPLE);
}

#[test]
fn oldest_incomplete_samples_take_precedence() {
    let mut fragments = Fragments::default();
    for number in [5, 6, 7, 8, 9] {
        take(&mut fragments, number, 1, &SAMPLE);
    }
    assert!(!fragments.has_begun(SequenceNumber(9)));
    take(&mut fragments, 4, 1, &SAMPLE);
    assert!(fragments.has_begun(SequenceNumber(4)) && !fragments.has_begun(SequenceNumber(8)));
    fragments.forget_oldest(SequenceNumber(10), |bytes| bytes < 100);
    assert!(!fragments.has_begun(SequenceNumber(4)));
    fragments.forget_before(SequenceNumber(7));
    assert_eq!(fragments.bytes(), SAMPLE.len());
}

#[test]
fn older_sample_displaces_newer_ones_only() {
    let mut fragments = Fragments::default();
    take(&mut fragments, 6, 1, &SAMPLE);
    take(&mut fragments, 7, 1, &SAMPLE);
    assert!(!fragments.has_capacity(SequenceNumber(8), SAMPLE.len(), 25));
    assert!(fragments.has_capacity(SequenceNumber(7), SAMPLE.len(), 25), "it has begun");
    assert!(fragments.has_capacity(SequenceNumber(5), SAMPLE.len(), 25));
    assert!(!fragments.has_begun(SequenceNumber(7)) && fragments.has_begun(SequenceNumber(6)));
    assert!(fragments.take_forgotten(), "it is requested again");
    // The same for the bytes that all writers share.
    let budget = Budget::new(15);
    let _other = budget.claim(10);
    assert!(fragments.claim(SequenceNumber(5), SAMPLE.len(), &budget).is_none());
    assert_eq!(fragments.bytes(), 0);
}
