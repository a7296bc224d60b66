//! A bag of many messages: its index, and the memory that reading takes. The full suite writes ten million.

use std::fs;
use std::io::BufReader;

use runnel_bag::mcap::{self, Profile};
use runnel_bag::{BagReader, BagWriter, Selection, rosbag};

use crate::formats::{add_channel, write};
use crate::random::repetitions;
use crate::real_files::Folder;

/// Nanoseconds between two messages.
const PERIOD: u64 = 1000;

/// Messages that are read from somewhere within the bag.
const PART: u64 = 1000;

#[test]
fn any_part_of_many_messages_is_found() {
    let count = repetitions(100_000, 10_000_000);
    let folder = Folder::new("many");
    for name in ["many.mcap", "many.bag"] {
        let path = folder.path().join(name);
        let disk = runnel_bag::files::create(&path).unwrap();
        let mut writer: Box<dyn BagWriter> = match name {
            "many.mcap" => Box::new(mcap::Writer::on_disk(disk, Profile::Ros1).unwrap()),
            _ => Box::new(rosbag::Writer::on_disk(disk).unwrap()),
        };
        let channel = add_channel(&mut *writer).unwrap();
        for number in 0..count {
            write(&mut *writer, channel, &(number * PERIOD, number.to_le_bytes().to_vec())).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);
        let file = BufReader::new(fs::File::open(&path).unwrap());
        let mut reader: Box<dyn BagReader> = match name {
            "many.mcap" => Box::new(mcap::Reader::open(file).unwrap()),
            _ => Box::new(rosbag::Reader::open(file).unwrap()),
        };
        assert!(reader.summary().is_finished && reader.damage().is_none(), "{name}");
        assert_eq!(reader.summary().counts, [count], "{name}");
        for first in [0, count / 3, count - PART] {
            let (start, end) = (Some(first * PERIOD), Some((first + PART - 1) * PERIOD));
            let part = reader.messages(&Selection { start, end, ..Selection::default() });
            let numbers =
                part.map(|message| u64::from_le_bytes(message.unwrap().data[..].try_into().unwrap()));
            assert!(numbers.eq(first..first + PART), "{name}, from message {first}");
        }
        let all = reader.messages(&Selection::default());
        let numbers = all.map(|message| u64::from_le_bytes(message.unwrap().data[..].try_into().unwrap()));
        assert!(numbers.eq(0..count), "{name}");
        fs::remove_file(&path).unwrap();
    }
}
