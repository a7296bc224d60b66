use std::io::Cursor;

use super::Writer;
use super::tests::{channel, message};
use crate::{BagWriter, ChannelId, Encoding, Error, NewMessage};

/// Half of the length at which a chunk ends.
const HALF_CHUNK: usize = 384 << 10;

fn writer() -> Writer<crate::disk::Plain<Cursor<Vec<u8>>>> {
    Writer::new(Cursor::new(Vec::new())).unwrap()
}

#[test]
fn finished_bag_header_has_index_position() {
    let mut writer = writer();
    let chatter = writer.add_channel(&channel("/chatter")).unwrap();
    writer.write(&message(chatter, 1, b"\x02\0\0\0hi")).unwrap();
    writer.finish().unwrap();
    let bag = writer.into_disk().into_inner().into_inner();
    let place = bag.windows(10).position(|bytes| bytes == b"index_pos=").unwrap() + 10;
    let index = u64::from_le_bytes(bag[place..place + 8].try_into().unwrap()) as usize;
    // The record of the channel is repeated there.
    assert!(bag[index..].windows(4).position(|bytes| bytes == b"op=\x07").unwrap() < 12);
}

#[test]
fn full_chunk_ends_and_empty_bag_has_none() {
    let chunks = |messages: u64| {
        let mut writer = writer();
        let chatter = writer.add_channel(&channel("/chatter")).unwrap();
        for index in 0..messages {
            writer.write(&message(chatter, index, &vec![0; HALF_CHUNK])).unwrap();
        }
        writer.finish().unwrap();
        let bag = writer.into_disk().into_inner().into_inner();
        bag.windows(4).filter(|bytes| bytes == b"op=\x05").count()
    };
    assert_eq!([0, 1, 2, 3, 4].map(chunks), [0, 1, 1, 2, 2]);
}

#[test]
fn invalid_additions_are_refused() {
    let mut writer = writer();
    let error = writer.write(&message(ChannelId(0), 0, b"")).unwrap_err();
    assert!(matches!(error, Error::UnknownChannel { index: 0 }));
    let mut cdr = channel("/cdr");
    cdr.encoding = Encoding::Cdr;
    let error = writer.add_channel(&cdr).unwrap_err();
    assert!(matches!(error, Error::UnsupportedChannel { topic, .. } if topic == "/cdr"));
    let chatter = writer.add_channel(&channel("/chatter")).unwrap();
    let late = NewMessage { log_time: u64::MAX, ..message(chatter, 0, b"") };
    assert!(matches!(writer.write(&late), Err(Error::TooLate { time: u64::MAX })));
    writer.finish().unwrap();
    assert!(matches!(writer.write(&message(chatter, 0, b"")), Err(Error::Finished)));
}
