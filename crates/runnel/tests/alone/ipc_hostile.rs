//! Tests of peers on this host that write invalid data in shared memory: each loses only its own IPC connection, with a
//! logged reason. Its link falls back to the network, and other processes lose nothing.

use std::cell::Cell;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use crate::common::wait_until;
use crate::fake_process;
use crate::fake_process::{
    ASK, ASK_SAMPLES, BYTES, CLOSE, END, FORGET, FULL, MAPPED, OPEN, OPEN_SAMPLES, POSITION, REACHED,
    RECORDS, RETURNED, RING, Record, SAMPLE, SAMPLE_BEGIN, SAMPLE_SLOT, SKIP, WANTS, is_ended,
    low_process_id, open_record, open_samples_record, reached_record, sample, segment_packet, send,
    slot_record, token_bytes, words,
};
use crate::ipc_scene::{Reader, Scene, numbered, subscribe};
use crate::logged::count_logged;
use crate::process::alone;
use runnel_io::memory::SharedWords;
use rustix::fs::{MemfdFlags, memfd_create};

const NAMED: &str = "IPC connection with another process of this host ended:";

/// Asserts that a hostile reader's action ends its IPC connection for a logged reason.
fn ends(scene: &Scene, what: &str, text: &[&str], act: impl FnOnce(&mut Reader)) {
    let text: Vec<&str> =
        text.iter().copied().chain([NAMED, "its links continue over the network"]).collect();
    let before = count_logged(&text);
    println!("{what}");
    let mut reader = Reader::new(scene);
    scene.talk(10, 100);
    act(&mut reader);
    reader.assert_fallback(scene, &text, before);
    scene.assert_undisturbed();
    wait_until("it is gone", || scene.publisher.subscription_count() == 1);
}

/// Asserts that a hostile reader's action harms only itself, and its IPC connection remains.
fn keeps_connection(scene: &Scene, what: &str, act: impl FnOnce(&mut Reader)) {
    println!("{what}");
    let mut reader = Reader::new(scene);
    act(&mut reader);
    // Messages come after the action was handled.
    wait_until("its records are read", || reader.session.peer_word(POSITION) == reader.session.written);
    scene.talk(10, 100);
    let last = numbered(scene.published.get() - 1, 100).data;
    wait_until("the last message", || {
        reader.session.next().is_some_and(|record| record.kind == SAMPLE && record.payload.ends_with(&last))
    });
    scene.assert_undisturbed();
    assert!(!is_ended(&reader.session.packets));
    scene.wait_for_departure(reader);
}

#[test]
fn impossible_positions_end_the_ipc_connection() {
    let _alone = alone();
    let scene = Scene::new();
    let falsify = |what: &str, position: fn(u64) -> u64| {
        ends(&scene, what, &["reported an impossible position in shared memory"], |reader| {
            reader.session.wait_for(SAMPLE);
            reader.session.set(POSITION, position(reader.session.read));
            // The position is checked when the ring is full.
            scene.talk(200, 3000);
        });
    };
    falsify("the last there is", |_| u64::MAX);
    falsify("half of all there are", |_| 1 << 63);
    falsify("ahead by a ring", |read| read + RING as u64);
    falsify("far ahead", |read| read + (1 << 40));
}

#[test]
fn decreasing_position_ends_the_ipc_connection() {
    let _alone = alone();
    let scene = Scene::new();
    ends(&scene, "back by a little", &["reported an impossible position in shared memory"], |reader| {
        // The position was checked at least once.
        for _ in 0..10 {
            scene.talk(50, 3000);
            (0..50).for_each(|_| drop(reader.session.wait_for(SAMPLE)));
        }
        reader.session.set(POSITION, 1);
        scene.talk(200, 3000);
    });
}

#[test]
fn decreased_position_at_the_end_resends_nothing() {
    let _alone = alone();
    let scene = Scene::new();
    let text = ["reported an impossible position in shared memory", NAMED];
    for position in [0, 1, 500, u64::MAX] {
        let before = count_logged(&text);
        let mut reader = Reader::new(&scene);
        for _ in 0..20 {
            scene.talk(50, 3000);
            (0..50).for_each(|_| drop(reader.session.wait_for(SAMPLE)));
        }
        reader.session.set(POSITION, position);
        reader.session.packets.shutdown().unwrap();
        wait_until("it is named", || count_logged(&text) > before);
        wait_until("the link on the network", || scene.publisher.shared_memory_count() == 1);
        scene.talk(1, 100);
        // The first message on the connection is the current one.
        let message = reader.next_message();
        assert!(message.ends_with(&numbered(scene.published.get() - 1, 100).data));
        scene.assert_undisturbed();
        scene.wait_for_departure(reader);
    }
}

#[test]
fn samples_read_before_a_fault_are_not_resent() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    scene.talk(10, 100);
    // It has not reported these as read.
    (0..6).for_each(|_| assert_eq!(reader.session.peek().expect("a message").kind, SAMPLE));
    reader.session.push(99, 0, &[]);
    reader.session.wait_for_end();
    // The talker may have fallen back without its report. This takes the driver's lock afterwards.
    drop(scene.talking.create_node("next").unwrap());
    reader.session.set(POSITION, reader.session.read);
    reader.session.set(END, 1);
    for number in 6..10 {
        let message = reader.next_message();
        assert!(message.ends_with(&numbered(number, 100).data), "message {number} is due");
    }
    scene.assert_undisturbed();
}

#[test]
fn return_of_slot_that_was_not_lent_is_refused() {
    let _alone = alone();
    let scene = Scene::new();
    let not_lent = ["released a slot that was not lent to it"];
    let too_many = ["released more slots than were lent to it"];
    for loan in [999, 4096, u64::from(u32::MAX), 1 << 16, u64::MAX] {
        ends(&scene, &format!("loan {loan} that never was"), &not_lent, |reader| {
            reader.borrow(&scene, 2);
            reader.session.return_slot(loan);
            scene.talk(5, 5000);
        });
    }
    ends(&scene, "the same slot twice", &not_lent, |reader| {
        let loans = reader.borrow(&scene, 3);
        reader.session.return_slot(loans[0]);
        reader.session.return_slot(loans[0]);
        scene.talk(5, 5000);
    });
    for count in [1000, 1 << 32, u64::MAX] {
        ends(&scene, &format!("{count} returned"), &too_many, |reader| {
            reader.borrow(&scene, 2);
            reader.session.set(RETURNED, count);
            scene.talk(5, 5000);
        });
    }
    ends(&scene, "fewer than before", &too_many, |reader| {
        let loans = reader.borrow(&scene, 4);
        reader.session.return_slot(loans[0]);
        reader.session.return_slot(loans[1]);
        // The talker notices the returned slots.
        scene.talk(2, 5000);
        reader.session.set(RETURNED, 1);
        scene.talk(5, 5000);
    });
}

#[test]
fn return_of_other_readers_slot_is_refused() {
    let _alone = alone();
    let (scene, mut other) = Scene::with_reader();
    let kept = other.borrow(&scene, 20);
    // The other reader's slots are read again at the end: they must not have been written.
    let bytes = |reader: &Reader| reader.session.segments[0].bytes(0, 5000 * 20).unwrap().to_vec();
    let (before, foreign) = (bytes(&other), *kept.last().unwrap());
    ends_with_other_reader(&scene, &["released a slot that was not lent to it"], |reader| {
        let own = reader.borrow(&scene, 1).len() as u64;
        reader.session.return_slot(foreign.max(own));
        scene.talk(100, 5000);
    });
    assert_eq!(bytes(&other), before);
    assert!(!is_ended(&other.session.packets));
    scene.assert_undisturbed();
}

/// As [`ends`], with another reader present.
fn ends_with_other_reader(scene: &Scene, text: &[&str], act: impl FnOnce(&mut Reader)) {
    let before = count_logged(text);
    let mut reader = Reader::with_others(scene);
    act(&mut reader);
    wait_until("it is named", || count_logged(text) > before);
    reader.session.wait_for_end();
}

#[test]
fn invalid_records_end_the_ipc_connection() {
    let _alone = alone();
    // Each scene is a process with its own log limit.
    let scenes = [(); 4].map(|()| Scene::new());
    let cases = Cell::new(0);
    let scene = || &scenes[cases.replace(cases.get() + 1) / 15];
    let record = |kind: u8, channel: u32, payload: &[u8], text: &[&str]| {
        ends(scene(), &format!("kind {kind}, {} bytes", payload.len()), text, |reader| {
            reader.session.push(kind, channel, payload);
        });
    };
    for kind in [1, 3, 15, 16, 127, 255] {
        record(kind, 0, &[0; 16], &[&format!("it wrote a record of kind {kind}")]);
    }
    for (kind, lengths) in [
        (ASK, &[0, 8, 15, 17, 24][..]),
        (OPEN, &[0, 16, 23, 25, 32]),
        (FORGET, &[0, 7, 9, 16]),
        (OPEN_SAMPLES, &[0, 24, 47, 49]),
        (SAMPLE_SLOT, &[0, 16, 23, 25]),
        (ASK_SAMPLES, &[0, 16, 25]),
        (REACHED, &[0, 24, 39, 41]),
        (SKIP, &[0, 8, 23, 25]),
    ] {
        for length in lengths {
            let text = format!("it wrote a record of kind {kind} with {length} bytes");
            record(kind, 0, &vec![1; *length], &[&text]);
        }
    }
    for (kind, length) in [(SAMPLE, 0), (SAMPLE, 7), (SAMPLE_BEGIN, 7)] {
        let text = format!("it wrote a sample of {length} bytes, without a number");
        record(kind, 0, &vec![1; length], &[&text]);
    }
    let begin = |first: u64, next: u64| words(&[5, 0, first, 1 | 2 << 32, 5, next]);
    for (channel, first, next) in [(1 << 16, 1, 1), (1, 0, 1), (1, 2, 1)] {
        let text = format!("it opened channel {channel} with the invalid first sample {next}");
        record(OPEN_SAMPLES, channel, &begin(first, next), &[&text]);
    }
    for next in [0, 1 << 63] {
        record(OPEN_SAMPLES, 1, &begin(1, next), &[&format!("statement has message number {next}")]);
    }
    for channel in [1 << 16, 0xff_ffff] {
        record(OPEN, channel, &open_record(5, 0), &[&format!("it opened channel {channel}")]);
    }
    for (segment, loan, slot, len) in [(0, 0, 0, 0), (7, 0, 0, 100), (u32::MAX, u32::MAX, u32::MAX, u32::MAX)]
    {
        record(
            SAMPLE_SLOT,
            0,
            &sample(1, &slot_record(segment, loan, slot, len)),
            &["of a segment that it has not announced"],
        );
    }
    let header = |header: u64, text: &str| {
        ends(scene(), &format!("header {header:x}"), &[text], |reader| {
            reader.session.push_with_header(header, &[])
        });
    };
    header(5, "a record of kind 0");
    header(0x00ff_ffff_0000_0000, "a record of kind 0");
    header(2 << 56 | (RING as u64 * 8 - 15), "more than the ring holds");
    header(u64::MAX, "a record of 4294967295 bytes");
}

#[test]
fn records_about_unknown_links_are_ignored() {
    let _alone = alone();
    let scene = Scene::new();
    keeps_connection(&scene, "unknown tokens, channels and segments", |reader| {
        let session = &mut reader.session;
        session.push(ASK, 0, &token_bytes(77));
        session.push(OPEN, 3, &open_record(77, 1000));
        session.push(OPEN, 65_535, &open_record(u128::MAX, u64::MAX));
        for channel in [0, 3, 65_535, 65_536, 0xff_ffff] {
            session.push(SAMPLE, channel, b"1234567 to nobody");
            session.push(BYTES, channel, &[9; 4000]);
            session.push(CLOSE, channel, &[]);
            session.push(CLOSE, channel, b"again");
        }
        session.push(FORGET, 0, &words(&[0]));
        session.push(FORGET, 0, &words(&[u64::MAX]));
    });
    keeps_connection(&scene, "its own link, on which it does not send", |reader| {
        let token = reader.token;
        for _ in 0..1000 {
            reader.session.push(ASK, 0, &token_bytes(token));
        }
        reader.session.push(OPEN, 9, &open_record(token, 0));
        reader.session.push(OPEN_SAMPLES, 9, &open_samples_record(token, 1, 2, 1));
        reader.session.push(SAMPLE, 9, b"1234567 to a publisher");
        reader.session.push(BYTES, 9, b"to a publisher");
    });
    keeps_connection(&scene, "words that say what they like", |reader| {
        for value in [1, 0, u64::MAX, 1 << 63, 77] {
            reader.session.set(WANTS, value);
            reader.session.set(MAPPED, value & !FULL);
            reader.session.local.page.words()[0].store(value, Ordering::SeqCst);
            scene.talk(5, 5000);
        }
        reader.session.local.outbox.words()[RECORDS - 7..RECORDS]
            .iter()
            .for_each(|word| word.store(7, Ordering::SeqCst));
    });
    keeps_connection(&scene, "no segment is mapped", |reader| {
        reader.session.set(MAPPED, FULL);
        scene.talk(50, 5000);
        let copied = |record: &Record| matches!(record.kind, SAMPLE | BYTES);
        wait_until("a copy", || reader.session.next().is_some_and(|record| copied(&record)));
    });
}

#[test]
fn impossible_report_ends_only_its_link() {
    let _alone = alone();
    let (scene, mut other) = Scene::with_reader();
    for (epoch, next) in [(99, 1), (1, u64::from(u32::MAX))] {
        let me = low_process_id();
        let mut reader = Reader::of(me, subscribe(&scene, me));
        let token = reader.token;
        reader.session.push(REACHED, 0, &reached_record(token, epoch, next));
        while reader.stream.read(&mut [0; 4096]).unwrap() > 0 {}
        assert!(!is_ended(&reader.session.packets));
    }
    scene.talk(10, 100);
    other.session.wait_for(SAMPLE);
    scene.assert_undisturbed();
}

#[test]
fn invalid_packets_end_the_ipc_connection() {
    let _alone = alone();
    let scene = Scene::new();
    let segment = SharedWords::new("fake-segment", 8192).unwrap();
    let (pipe, _writer) = std::io::pipe().unwrap();
    let fd = segment.fd();
    let packet = |what: &str, bytes: &[u8], fds: &[_], text: &str| {
        ends(&scene, what, &[text], |reader| send(&reader.session.packets, bytes, fds));
    };
    packet("short", &[1], &[], "it sent a packet of an unknown form");
    packet("short, with a descriptor", &[1; 23], &[fd], "it sent a packet of an unknown form");
    packet("without a descriptor", &segment_packet(0, 4096, 2), &[], "it sent a packet of an unknown form");
    packet("with two", &segment_packet(0, 4096, 2), &[fd, fd], "it sent a packet of an unknown form");
    packet("not the first", &segment_packet(1, 4096, 2), &[fd], "it announced segments out of order");
    packet(
        "the last there is",
        &segment_packet(u64::MAX, 4096, 2),
        &[fd],
        "it announced segments out of order",
    );
    packet(
        "too long",
        &segment_packet(0, 1 << 40, 1 << 40),
        &[fd],
        "it announced a segment longer than the address space",
    );
    packet(
        "no memory",
        &segment_packet(0, 4096, 2),
        &[pipe.as_fd()],
        "it announced a segment that is not valid memory",
    );
}

#[test]
fn invalid_segments_are_not_mapped() {
    let _alone = alone();
    let scene = Scene::new();
    let segment = SharedWords::new("fake-segment", 8192).unwrap();
    let unsealed = memfd_create("fake-segment", MemfdFlags::ALLOW_SEALING).unwrap();
    let text = ["memory of another process is not mapped, its messages are copied"];
    let before = count_logged(&text);
    for (slot_bytes, slots, fd) in [
        (4096, 2, unsealed.as_fd()),
        (4096, 3, segment.fd()),
        (u64::from(u32::MAX), 1, segment.fd()),
        (1, u64::from(u32::MAX), segment.fd()),
    ] {
        keeps_connection(&scene, "a segment that is not what it says", |reader| {
            // The second packet was in transit when the first was refused.
            send(&reader.session.packets, &segment_packet(0, slot_bytes, slots), &[fd]);
            (1..100).for_each(|number| {
                send(&reader.session.packets, &segment_packet(number, 4096, 2), &[segment.fd()])
            });
            wait_until("no more is mapped", || reader.session.peer_word(MAPPED) & FULL != 0);
        });
    }
    // Logged once per IPC connection.
    assert_eq!(count_logged(&text) - before, 4);
}

#[test]
fn full_doorbell_does_not_block_the_writer() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    reader.session.local.fill_doorbell();
    let page = reader.session.local.page.words();
    // It sleeps again and again, and the doorbell rings each time.
    let talked = (0..200).map(|epoch| {
        page[0].store(2 * epoch + 1, Ordering::SeqCst);
        scene.talk(1, 100);
    });
    assert_eq!(talked.count(), 200);
    scene.assert_undisturbed();
    let last = numbered(scene.published.get() - 1, 100).data;
    wait_until("the last message", || {
        reader.session.next().is_some_and(|record| record.payload.ends_with(&last))
    });
    assert!(!is_ended(&reader.session.packets));
}

#[test]
fn reader_that_frees_little_space_receives_everything() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    scene.talk(20_000, 10);
    let session = &mut reader.session;
    wait_until("it asks for space", || session.peer_word(WANTS) > 0);
    // Too little space to continue. Nothing more is published, and still the doorbell rings once there is enough.
    let mut answered = session.peer_word(WANTS);
    (0..100).for_each(|_| drop(session.peek().expect("a record")));
    session.set(POSITION, session.read);
    wait_until("it asks again", || session.peer_word(WANTS) != answered);
    let last = numbered(scene.published.get() - 1, 10).data;
    wait_until("the last message", || {
        let record = session.next();
        if std::mem::replace(&mut answered, session.peer_word(WANTS)) != answered {
            session.ring();
        }
        record.is_some_and(|record| record.payload.ends_with(&last))
    });
    scene.assert_undisturbed();
}

#[test]
fn slots_lent_at_the_end_are_not_reused() {
    let _alone = alone();
    let (scene, mut reader) = Scene::with_reader();
    let mut slots = Vec::new();
    wait_until("slots that are lent", || {
        scene.talk(1, 5000);
        reader.session.map_segments();
        let lent = std::iter::from_fn(|| reader.session.next()).filter(|record| record.kind == SAMPLE_SLOT);
        slots.extend(lent.map(|record| record.word(2)));
        slots.len() >= 5
    });
    // A reader that holds a message continues to read it.
    let read = |session: &fake_process::FakeConnection| -> Vec<Vec<u8>> {
        let lent = slots.iter().map(|word| ((word >> 32) as usize * 5120, *word as u32 as usize));
        lent.map(|(start, len)| session.segments[0].bytes(start, len).unwrap().to_vec()).collect()
    };
    let before = read(&reader.session);
    assert!(before.iter().all(|message| message.len() == 5012 && message[1000] == message[5011]));
    reader.session.packets.shutdown().unwrap();
    wait_until("the link on the network", || scene.publisher.shared_memory_count() == 1);
    for _ in 0..20 {
        scene.talk(100, 5000);
        scene.assert_undisturbed();
    }
    assert_eq!(read(&reader.session), before);
}
