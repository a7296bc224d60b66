//! MCAP files: what is written is read back in the same order, by the reader and by the crate `mcap`.
//!
//! The first two bytes of the input set the disk and the end of the recording. Then follow steps: kind, length, bytes.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use runnel_bag::disk::MemoryDisk;
use runnel_bag::mcap::{Profile, Reader, Writer};
use runnel_bag::{
    Attachment, BagReader, BagWriter, Channel, ChannelId, Compression, Encoding, Metadata, NewMessage,
    Schema, SchemaLanguage, Selection,
};

/// Most steps: each compressed chunk begins with megabytes of buffers.
const MOST_STEPS: usize = 200;

/// Topic, log time, sequence number and bytes of a message.
type Written = (String, u64, u32, Vec<u8>);

#[derive(Default)]
struct Expected {
    topics: Vec<String>,
    messages: Vec<Written>,
    attachments: usize,
    metadata: usize,
}

struct Step<'a> {
    kind: u8,
    bytes: &'a [u8],
}

fn steps(mut rest: &[u8]) -> impl Iterator<Item = Step<'_>> {
    let next = move || {
        let (&[kind, len], more) = rest.split_first_chunk()?;
        let (bytes, later) = more.split_at(usize::from(len).min(more.len()));
        rest = later;
        Some(Step { kind, bytes })
    };
    std::iter::from_fn(next).take(MOST_STEPS)
}

impl Step<'_> {
    fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }

    fn run(&self, writer: &mut Writer<MemoryDisk>, expected: &mut Expected) {
        match self.kind % 8 {
            _ if expected.topics.is_empty() => self.add_channel(writer, expected),
            0 => self.add_channel(writer, expected),
            1 => self.configure(writer),
            2 if self.kind > 127 => writer.sync().expect("a disk in memory"),
            2 => writer.flush().expect("a disk in memory"),
            3 if self.kind > 127 => {
                let attachment =
                    Attachment { name: self.text(), data: self.bytes.to_vec(), ..Attachment::default() };
                writer.add_attachment(&attachment).expect("a disk in memory");
                expected.attachments += 1;
            }
            3 => {
                let values = [(self.text(), self.text())].into();
                writer.add_metadata(&Metadata { name: self.text(), values }).expect("a disk in memory");
                expected.metadata += 1;
            }
            _ => self.write(writer, expected),
        }
    }

    fn add_channel(&self, writer: &mut Writer<MemoryDisk>, expected: &mut Expected) {
        let (encoding, language) = match self.kind / 8 % 4 {
            0 => (Encoding::Ros1, SchemaLanguage::Ros1Msg),
            1 => (Encoding::Cdr, SchemaLanguage::Ros2Msg),
            2 => (Encoding::Other("json".to_owned()), SchemaLanguage::Other("jsonschema".to_owned())),
            _ => (Encoding::Ros1, SchemaLanguage::None),
        };
        let topic = format!("/{}/{}", expected.topics.len(), self.text());
        let type_name = if self.kind > 127 { self.text() } else { "p/T".to_owned() };
        let schema = Schema { language, data: self.bytes.to_vec() };
        let channel = Channel { topic: topic.clone(), type_name, encoding, schema, ..Channel::default() };
        let id = writer.add_channel(&channel).expect("few channels");
        assert_eq!(id.index(), expected.topics.len());
        expected.topics.push(topic);
    }

    fn configure(&self, writer: &mut Writer<MemoryDisk>) {
        let compression = [Compression::None, Compression::Lz4][usize::from(self.kind / 8 % 2)];
        writer.set_compression(compression).expect("MCAP has it");
        writer.set_chunk_len(64 << (self.kind / 16));
    }

    fn write(&self, writer: &mut Writer<MemoryDisk>, expected: &mut Expected) {
        let number = usize::from(self.kind) / 8 % expected.topics.len();
        // Sometimes longer than the buffer of the disk.
        let times = if self.kind % 8 == 4 { 1 + 10 * self.bytes.len() } else { 1 };
        let data = self.bytes.repeat(times);
        let log_time = u64::from(self.bytes.first().copied().unwrap_or(0)) << 40;
        let sequence = expected.messages.len() as u32;
        let channel = ChannelId::new(number);
        let message = NewMessage { channel, log_time, publish_time: 7, sequence, data: (&data).into() };
        writer.write(&message).expect("a disk in memory");
        expected.messages.push((expected.topics[number].clone(), log_time, sequence, data));
    }
}

/// The messages by the reader, which sorts them by time.
fn check_reader(file: &[u8], expected: &Expected, is_finished: bool) {
    let mut reader = Reader::open(Cursor::new(file)).expect("a bag");
    assert!(reader.damage().is_none(), "{:?}", reader.damage());
    assert_eq!(reader.summary().is_finished, is_finished);
    assert_eq!(reader.attachments().len(), expected.attachments);
    assert_eq!(reader.metadata().expect("metadata").len(), expected.metadata);
    let topics: Vec<_> = reader.channels().iter().map(|channel| channel.topic.clone()).collect();
    if is_finished {
        assert_eq!(topics, expected.topics);
    }
    let read = reader.messages(&Selection::default()).map(|message| {
        let message = message.expect("it is sound");
        assert_eq!(message.publish_time, 7);
        let topic = topics[message.channel.index()].clone();
        (topic, message.log_time, message.sequence, message.data.to_vec())
    });
    let mut by_time = expected.messages.clone();
    by_time.sort_by_key(|(_, time, _, _)| *time);
    assert!(read.eq(by_time));
}

/// The messages by the crate `mcap`, in the order of the file.
fn check_crate(file: &[u8], expected: &Expected) {
    let read = mcap::MessageStream::new(file).expect("a file").map(|message| {
        let message = message.expect("it is sound");
        (message.channel.topic.clone(), message.log_time, message.sequence, message.data.to_vec())
    });
    assert!(read.eq(expected.messages.iter().cloned()));
    let summary = mcap::Summary::read(file).expect("a summary").expect("it is finished");
    assert_eq!(summary.channels.len(), expected.topics.len());
    assert_eq!(summary.attachment_indexes.len(), expected.attachments);
    assert_eq!(summary.metadata_indexes.len(), expected.metadata);
    let statistics = summary.stats.expect("statistics");
    assert_eq!(statistics.message_count, expected.messages.len() as u64);
}

fuzz_target!(|data: &[u8]| {
    let Some((&[disk, end], rest)) = data.split_first_chunk() else { return };
    let block = [1, 16, 512][usize::from(disk) % 3];
    let disk = MemoryDisk::new(block, block * (1 + usize::from(disk)));
    let mut writer = Writer::on_disk(disk, Profile::None).expect("a disk in memory");
    let (mut expected, is_finished) = (Expected::default(), end % 4 != 0);
    steps(rest).for_each(|step| step.run(&mut writer, &mut expected));
    if is_finished { writer.finish() } else { writer.flush() }.expect("a disk in memory");
    let disk = writer.into_disk();
    check_reader(disk.bytes(), &expected, is_finished);
    if is_finished {
        check_crate(disk.bytes(), &expected);
    }
});
