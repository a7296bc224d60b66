//! Chunks compressed by threads of their own.

use runnel_bag::disk::MemoryDisk;
use runnel_bag::mcap::Profile;
use runnel_bag::{BagWriter, Compression, Error, mcap, rosbag};

use crate::formats::{Logged, add_channel, random_message, write};
use crate::random::Random;

fn disk() -> MemoryDisk {
    MemoryDisk::new(512, 64 << 10)
}

/// Writes the messages, of which some are not compressed and some are flushed.
fn record<W: BagWriter>(
    mut writer: W,
    set_compression: fn(&mut W, Compression) -> Result<(), Error>,
    messages: &[Logged],
) -> W {
    let channel = add_channel(&mut writer).unwrap();
    for (number, message) in messages.iter().enumerate() {
        let compression = if number / 8 % 3 == 2 { Compression::None } else { Compression::Lz4 };
        set_compression(&mut writer, compression).unwrap();
        write(&mut writer, channel, message).unwrap();
        if number % 19 == 18 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    writer
}

fn rosbag_file(threads: Option<usize>, messages: &[Logged]) -> Vec<u8> {
    let mut writer = rosbag::Writer::on_disk(disk()).unwrap();
    writer.set_chunk_len(10_000);
    threads.into_iter().for_each(|threads| writer.set_compression_threads(threads).unwrap());
    record(writer, rosbag::Writer::set_compression, messages).into_disk().bytes().to_vec()
}

fn mcap_file(threads: Option<usize>, messages: &[Logged]) -> Vec<u8> {
    let mut writer = mcap::Writer::on_disk(disk(), Profile::Ros1).unwrap();
    writer.set_chunk_len(10_000);
    threads.into_iter().for_each(|threads| writer.set_compression_threads(threads).unwrap());
    record(writer, mcap::Writer::set_compression, messages).into_disk().bytes().to_vec()
}

#[test]
fn threads_write_the_same_file() {
    let mut random = Random::new(2);
    let messages: Vec<_> = (0..50).map(|number| random_message(&mut random, number)).collect();
    for file in [rosbag_file, mcap_file] {
        let expected = file(None, &messages);
        for threads in [1, 4] {
            assert!(file(Some(threads), &messages) == expected, "{threads} threads");
        }
    }
}
