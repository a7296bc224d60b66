use super::*;
use crate::wire::{DecodeErrorKind, LeSlice, Text, cdr, decode, decode_view, encode};
use alloc::string::{String, ToString};
use alloc::vec;
use core::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const WORD: usize = size_of::<usize>();

/// Words that contain `bytes` from byte `start` on, and one more.
fn words(start: usize, bytes: &[u8]) -> Vec<AtomicUsize> {
    let mut all = vec![0xff; start];
    all.extend_from_slice(bytes);
    all.resize(all.len().next_multiple_of(WORD) + WORD, 0xee);
    let words = all.as_chunks().0.iter();
    words.map(|word| AtomicUsize::new(usize::from_ne_bytes(*word))).collect()
}

fn shared(words: &[AtomicUsize], start: usize, len: usize) -> Bytes<'_> {
    Bytes::shared(words, start, len).unwrap()
}

#[test]
fn shared_bytes_read_like_a_slice() {
    let expected: Vec<u8> = (0..4200).map(|index| (index * 7 % 251) as u8).collect();
    for (start, len) in (0..20)
        .flat_map(|start| (0..20).chain([511, 512, 513, 2047, 2048, 2049, 4200]).map(move |len| (start, len)))
    {
        let expected = &expected[..len];
        let words = words(start, expected);
        let bytes = shared(&words, start, len);
        assert_eq!((bytes.len(), bytes.as_slice()), (len, None));
        assert_eq!((bytes, bytes.to_vec().as_slice()), (Bytes::from(expected), expected));
        assert!(bytes == *expected && bytes.iter().eq(expected.iter().copied()));
        assert_eq!((bytes.iter().len(), bytes.iter().fold(0, |sum, _| sum + 1)), (len, len));
        assert_eq!((bytes.get(len), bytes.get(len / 2)), (None, expected.get(len / 2).copied()));
        for count in [0, 1, len / 2, len] {
            let (first, rest) = bytes.split_at(count.min(len)).unwrap();
            let (expected_first, expected_rest) = expected.split_at(count.min(len));
            assert!(first == *expected_first && rest == *expected_rest, "{start} {len} {count}");
        }
        assert!(bytes.split_at(len + 1).is_none());
        let mut longer = vec![9; len + 1];
        assert_eq!((bytes.copy_to_slice(&mut longer), longer[len]), (len, 9));
        assert_eq!(longer[..len], *expected);
        let mut out = vec![1, 2];
        bytes.append_to(&mut out).unwrap();
        assert_eq!((&out[..2], &out[2..]), (&[1, 2][..], expected));
    }
}

/// Copies every length around a block's, with every alignment to 16 bytes, and checks the adjacent bytes.
#[test]
fn copy_takes_exactly_its_bytes() {
    let expected: Vec<u8> = (0..200).map(|index| (index * 7 % 251) as u8).collect();
    // Miri is slow.
    let (last, step) = if cfg!(miri) { (20, 5) } else { (200, 1) };
    for (start, len) in (0..16).flat_map(|start| (0..=last).map(move |len| (start, len))) {
        let words = words(start, &expected[..len]);
        let bytes = shared(&words, start, len);
        for place in (0..16).step_by(step) {
            let mut to = [9; 240];
            assert_eq!(bytes.copy_to_slice(&mut to[place..place + len]), len);
            let (before, rest) = to.split_at(place);
            assert_eq!(
                (before, &rest[..len]),
                (&[9; 16][..place], &expected[..len]),
                "{start} {len} {place}"
            );
            assert!(rest[len..].iter().all(|byte| *byte == 9), "{start} {len} {place}");
        }
    }
}

/// While another thread turns all bits of all words over, each byte that is read is as it was at some time.
#[test]
fn copied_bytes_are_old_or_new_while_they_change() {
    let lies: Vec<AtomicUsize> = (0..64).map(|_| AtomicUsize::new(0)).collect();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                lies.iter().for_each(|word| word.store(!word.load(Ordering::Relaxed), Ordering::Relaxed));
            }
        });
        let mut copy = [1; 500];
        let all_valid = (0..if cfg!(miri) { 20 } else { 100_000 }).all(|_| {
            shared(&lies, 3, copy.len()).copy_to_slice(&mut copy);
            copy.iter().all(|byte| matches!(byte, 0 | 0xff))
        });
        over.store(true, Ordering::Relaxed);
        assert!(all_valid);
    });
}

#[test]
fn bytes_that_differ_are_not_equal() {
    let words = words(3, &[1; 600]);
    let bytes = shared(&words, 3, 600);
    let mut other = vec![1; 600];
    other[599] = 2;
    for other in [&other[..], &[1; 599], &[1; 601], &[]] {
        assert!(bytes != *other && bytes != Bytes::from(other));
    }
}

#[test]
fn slice_beyond_shared_memory_is_refused() {
    let words = words(0, &[1; 16]);
    let whole = words.len() * WORD;
    assert!(Bytes::shared(&words, 0, whole).is_some() && Bytes::shared(&words, whole, 0).is_some());
    for (start, len) in [(0, whole + 1), (1, whole), (whole + 1, 0), (usize::MAX, 1), (1, usize::MAX)] {
        assert!(Bytes::shared(&words, start, len).is_none(), "{start} {len}");
    }
}

#[test]
fn shared_numbers_read_at_any_alignment() {
    let numbers: Vec<f64> = (0..70).map(f64::from).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    for start in 0..9 {
        let words = words(start, &bytes);
        let view = LeSlice::<f64>::from_wire(shared(&words, start, bytes.len()));
        assert_eq!((view.len(), view.as_slice(), view.to_vec()), (70, None, numbers.clone()));
        assert_eq!((view.get(69), view.get(70), view.get(usize::MAX)), (Some(69.0), None, None));
        let mut copy = [0.0; 71];
        assert_eq!((view.copy_to_slice(&mut copy), &copy[..70]), (70, numbers.as_slice()));
        assert_eq!(view.iter().fold(0.0, |sum, number| sum + number), 69.0 * 35.0);
        let mut begun = view.iter();
        assert_eq!((begun.next(), begun.fold(0.0, |sum, number| sum + number)), (Some(0.0), 69.0 * 35.0));
        let odd = LeSlice::<f64>::from_wire(shared(&words, start, bytes.len() - 1));
        assert_eq!((odd.len(), odd.iter().count()), (69, 69));
    }
}

#[test]
fn shared_message_decodes_like_one_of_this_process() {
    let texts = vec!["a".to_string(), String::new(), "é".repeat(20), "x".repeat(38)];
    for start in 0..9 {
        let bytes = encode(&texts);
        let lies = words(start, &bytes);
        let bytes = shared(&lies, start, bytes.len());
        assert_eq!(decode::<Vec<String>>(bytes).unwrap(), texts);
        assert!(
            decode_view::<Vec<String>>(bytes)
                .unwrap()
                .iter()
                .eq(texts.iter().map(|text| Text::from(text.as_str())))
        );
        for encoding in
            [cdr_of(&texts, crate::wire::Encoding::Xcdr1), cdr_of(&texts, crate::wire::Encoding::Xcdr2)]
        {
            let lies = words(start, &encoding);
            let bytes = shared(&lies, start, encoding.len());
            assert_eq!(cdr::decode::<Vec<String>>(bytes).unwrap(), texts);
            let view = cdr::decode_view::<Vec<String>>(bytes).unwrap();
            assert_eq!(view.get(2).map(String::from), Some(texts[2].clone()));
        }
    }
}

fn cdr_of(texts: &Vec<String>, encoding: crate::wire::Encoding) -> Vec<u8> {
    cdr::encode(texts, encoding).unwrap()
}

#[test]
fn shared_text_that_is_not_utf_8_is_refused() {
    for len in [3, 100] {
        let mut bytes = encode(&"x".repeat(len));
        *bytes.last_mut().unwrap() = 0xe9;
        let lies = words(5, &bytes);
        let error = decode_view::<String>(shared(&lies, 5, bytes.len())).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::NotUtf8);
    }
}

#[test]
fn text_of_a_view_stays_when_its_bytes_change() {
    for len in [3, 100] {
        let bytes = encode(&"x".repeat(len));
        let lies = words(0, &bytes);
        let text = decode_view::<String>(shared(&lies, 0, bytes.len())).unwrap();
        lies.iter().for_each(|word| word.store(usize::MAX, Ordering::Relaxed));
        assert_eq!(text, "x".repeat(len));
    }
}

/// A text is either refused or stays UTF-8, whatever another thread does to its bytes meanwhile.
#[test]
fn text_is_utf_8_while_its_bytes_change() {
    let whole = "é".repeat(100);
    let bytes = encode(&whole);
    let lies = words(0, &bytes);
    let (before, over) = (lies[1].load(Ordering::Relaxed), AtomicBool::new(false));
    let is_valid = || match decode_view::<String>(shared(&lies, 0, bytes.len())) {
        Ok(text) => core::str::from_utf8(text.as_bytes()).is_ok() && text == whole,
        Err(error) => error.kind() == DecodeErrorKind::NotUtf8,
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                lies[1].store(usize::MAX, Ordering::Relaxed);
                lies[1].store(before, Ordering::Relaxed);
            }
        });
        let all_valid = (0..20_000).all(|_| is_valid());
        over.store(true, Ordering::Relaxed);
        assert!(all_valid);
    });
}
