use super::*;
use crate::memory::ForeignBytes;
use runnel_testkit::net::Rng;
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;

fn filled(segment: &Arc<Segment>, byte: u8, len: usize) -> Option<Slot> {
    let mut slot = segment.take()?;
    slot[..len].fill(byte);
    Some(slot.freeze(len))
}

fn assert_shareable<T: Send + Sync>() {}

#[test]
fn slots_fill_cache_lines_and_cross_threads() {
    assert_shareable::<(Arc<Segment>, SlotMut, Slot)>();
    for (asked, bytes) in [(1, 64), (64, 64), (65, 128), (5000, 5056)] {
        let segment = Segment::new(asked, 3).unwrap();
        assert_eq!((segment.slot_bytes(), segment.slots()), (bytes, 3));
        assert!(segment.len() >= 3 * bytes);
        let slot = segment.take().unwrap();
        assert_eq!((slot.len(), slot.as_ptr() as usize % ALIGNMENT), (bytes, 0));
    }
}

#[test]
fn invalid_segment_size_is_an_error() {
    let beyond = (u32::MAX as usize).saturating_add(2);
    for (slot_bytes, slots) in
        [(0, 1), (1, 0), (usize::MAX, 1), (1 << 62, 4), (usize::MAX / 2, 3), (64, beyond)]
    {
        let error = Segment::new(slot_bytes, slots).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{slot_bytes} {slots}");
    }
}

#[test]
fn reader_finds_slot_by_index() {
    let segment = Segment::new(100, 40).unwrap();
    let fd = segment.fd().try_clone_to_owned().unwrap();
    let foreign = ForeignBytes::map(fd, segment.len(), segment.len()).unwrap();
    let slots: Vec<_> = (0..40).map(|byte| filled(&segment, byte, 100).unwrap()).collect();
    assert_eq!(slots.iter().map(Slot::index).collect::<BTreeSet<_>>().len(), 40);
    for (byte, slot) in slots.iter().enumerate() {
        let read = foreign.bytes(slot.index() as usize * segment.slot_bytes(), slot.len()).unwrap().to_vec();
        let read = read.as_slice();
        assert_eq!(read, [byte as u8; 100]);
        assert_eq!((slot.as_ref(), Arc::ptr_eq(slot.segment(), &segment)), (read, true));
    }
}

#[test]
fn last_freed_slot_is_reused_first() {
    let segment = Segment::new(64, 3).unwrap();
    let (first, second, third) = (segment.take(), segment.take(), segment.take());
    assert!(segment.take().is_none());
    let slot = second.unwrap().freeze(10);
    let (index, clone) = (slot.index(), slot.clone());
    drop(slot);
    assert!(segment.take().is_none(), "the clone holds it");
    assert_eq!(segment.in_use(), 3);
    drop(first);
    drop(clone);
    assert_eq!(segment.in_use(), 1);
    assert_eq!(segment.take().unwrap().freeze(0).index(), index);
    drop(third);
    assert_eq!(segment.in_use(), 0);
}

#[test]
fn retired_segment_gives_no_slot_and_keeps_memory() {
    let segment = Segment::new(64, 2).unwrap();
    let slot = filled(&segment, 5, 64).unwrap();
    segment.retire();
    assert!(segment.is_retired() && segment.take().is_none());
    assert_eq!((segment.in_use(), &slot[..]), (1, &[5; 64][..]));
    drop(slot.clone());
    assert_eq!(segment.in_use(), 1);
    drop(slot);
    assert!(segment.in_use() == 0 && segment.take().is_none());
}

#[test]
fn last_slot_keeps_memory() {
    let segment = Segment::new(64, 2).unwrap();
    let (slot, writing) = (filled(&segment, 8, 64).unwrap(), segment.take().unwrap());
    let clone = slot.clone();
    let watched = Arc::downgrade(&segment);
    drop((segment, slot));
    assert_eq!(clone[..], [8; 64]);
    drop(clone);
    assert_eq!(watched.strong_count(), 1, "held once by each slot, not by each holder");
    drop(writing);
    assert_eq!(watched.strong_count(), 0);
}

#[test]
#[should_panic(expected = "129 bytes do not fit")]
fn payload_beyond_slot_size_panics() {
    Segment::new(128, 1).unwrap().take().unwrap().freeze(129);
}

#[test]
fn no_slot_is_given_twice() {
    for seed in 1..200 {
        let mut dice = Rng::new(seed);
        let slots = 1 + dice.below(5);
        let segment = Segment::new(64, slots).unwrap();
        let (mut writing, mut held) = (Vec::<SlotMut>::new(), Vec::<Slot>::new());
        for _ in 0..300 {
            match dice.below(5) {
                0 => writing.extend(segment.take()),
                1 if !writing.is_empty() => drop(writing.swap_remove(dice.below(writing.len()))),
                2 if !writing.is_empty() => {
                    held.push(writing.swap_remove(dice.below(writing.len())).freeze(dice.below(65)));
                }
                3 if !held.is_empty() => held.push(held[dice.below(held.len())].clone()),
                _ if !held.is_empty() => drop(held.swap_remove(dice.below(held.len()))),
                _ => {}
            }
            let frozen: BTreeSet<_> = held.iter().map(Slot::index).collect();
            let written: BTreeSet<_> = writing.iter().map(|slot| slot.held.index).collect();
            assert_eq!(written.len(), writing.len(), "{seed}");
            assert!(frozen.is_disjoint(&written), "{seed}");
            assert_eq!(segment.in_use(), frozen.len() + written.len(), "{seed}");
        }
    }
}

/// Takes slots, fills each with its own byte and sends two clones of it to other threads, which check its content.
fn use_slots(segment: &Arc<Segment>, seed: u64, peers: &[mpsc::Sender<(u8, Slot)>]) {
    let mut dice = Rng::new(seed);
    for round in 0..20_000 {
        let byte = dice.below(256) as u8;
        let Some(mut slot) = segment.take() else { continue };
        slot.fill(byte);
        if round % 7 == 0 {
            continue;
        }
        assert!(slot.iter().all(|found| *found == byte), "no other thread writes it");
        let slot = slot.freeze(64);
        for _ in 0..2 {
            let _ = peers[dice.below(peers.len())].send((byte, slot.clone()));
        }
        assert!(slot.iter().all(|found| *found == byte));
    }
}

#[test]
fn written_slot_is_never_shared() {
    let segment = Segment::new(64, 7).unwrap();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel::<(u8, Slot)>()).unzip();
    thread::scope(|scope| {
        for receiver in receivers {
            scope.spawn(move || {
                for (byte, slot) in receiver {
                    assert!(
                        slot.clone().iter().all(|found| *found == byte),
                        "it is altered while it is held"
                    );
                }
            });
        }
        for seed in 1..4 {
            let (segment, senders) = (&segment, senders.clone());
            scope.spawn(move || use_slots(segment, seed, &senders));
        }
        drop(senders);
    });
    assert_eq!((segment.in_use(), Arc::strong_count(&segment)), (0, 1));
}
