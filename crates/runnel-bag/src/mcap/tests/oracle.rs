//! The same files, read and written by the crate `mcap`.

use std::collections::BTreeMap;

use ::mcap::records::{MessageHeader, Metadata};
use ::mcap::{MessageStream, Summary, WriteOptions};

use super::*;
use crate::Attachment;

#[test]
fn mcap_crate_reads_the_file() {
    let mut writer = Writer::new(Cursor::new(Vec::new()), Profile::Ros1).unwrap();
    write_script(&mut writer, &script());
    let data = b"content".to_vec();
    writer.add_attachment(&Attachment { name: "a".into(), data, ..Attachment::default() }).unwrap();
    writer.finish().unwrap();
    let bag = writer.into_disk().into_inner().into_inner();
    let messages: Vec<_> = MessageStream::new(&bag).unwrap().map(Result::unwrap).collect();
    let read: Vec<Written> = messages
        .iter()
        .map(|message| {
            let topic = ["/ros1", "/ros2", "/json"].into_iter().find(|topic| *topic == message.channel.topic);
            (topic.unwrap(), message.log_time, message.data.to_vec())
        })
        .collect();
    assert_eq!(read, script());
    let schema = messages[1].channel.schema.as_ref().unwrap();
    assert_eq!((&*schema.name, &*schema.encoding), ("std_msgs/msg/String", "ros2msg"));
    let summary = Summary::read(&bag).unwrap().unwrap();
    assert_eq!((summary.chunk_indexes.len(), summary.channels.len(), summary.schemas.len()), (8, 3, 3));
    for index in &summary.chunk_indexes {
        let indexes = summary.read_message_indexes(&bag, index).unwrap();
        assert_eq!(indexes.values().map(Vec::len).sum::<usize>(), 5);
        for (channel, entries) in &indexes {
            for entry in entries {
                let message = summary.seek_message(&bag, index, entry).unwrap();
                assert_eq!((message.log_time, &message.channel.topic), (entry.log_time, &channel.topic));
            }
        }
    }
    let attachment = ::mcap::read::attachment(&bag, &summary.attachment_indexes[0]).unwrap();
    assert_eq!(&*attachment.data, b"content");
}

fn written_by_mcap_crate(options: WriteOptions, finishes: bool) -> Vec<u8> {
    let mut writer = options.profile("ros2").create(Cursor::new(Vec::new())).unwrap();
    let mut ids = BTreeMap::new();
    for (number, (topic, log_time, data)) in script().iter().enumerate() {
        let id = *ids.entry(*topic).or_insert_with(|| {
            let schema = writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data\n").unwrap();
            writer.add_channel(schema, topic, "cdr", &BTreeMap::new()).unwrap()
        });
        let (channel_id, sequence, publish_time) = (id, number as u32, log_time - 1);
        let header = MessageHeader { channel_id, sequence, log_time: *log_time, publish_time };
        writer.write_to_known_channel(&header, data).unwrap();
        if number == 20 {
            let metadata = [("key".to_owned(), "value".to_owned())].into();
            writer.write_metadata(&Metadata { name: "meta".into(), metadata }).unwrap();
        }
    }
    if finishes {
        writer.finish().unwrap();
    }
    writer.into_inner().into_inner()
}

fn options() -> [WriteOptions; 8] {
    let new = || WriteOptions::new().compression(None).chunk_size(Some(300));
    [
        new(),
        new().use_chunks(false),
        new().emit_summary_records(false).emit_summary_offsets(false),
        new().emit_message_indexes(false),
        new().emit_statistics(false),
        new().repeat_channels(false).repeat_schemas(false),
        new().emit_chunk_indexes(false),
        new().disable_seeking(true).calculate_chunk_crcs(false),
    ]
}

#[test]
fn files_of_mcap_crate_are_read() {
    for (number, options) in options().into_iter().enumerate() {
        let bag = written_by_mcap_crate(options, true);
        let mut reader = open(&bag);
        assert!(reader.damage().is_none(), "{number} {:?}", reader.damage());
        assert_eq!((reader.profile(), reader.summary().is_finished), ("ros2", true));
        assert_eq!(reader.summary().counts, [14, 13, 13], "{number}");
        assert_eq!((reader.summary().start, reader.summary().end), (Some(985), Some(1390)));
        assert_eq!(reader.metadata().unwrap()[0].values["key"], "value");
        assert_eq!(read(&bag, &Selection::default()), by_time(&script()), "{number}");
    }
}

/// Without a chunk of known length, all messages that are in the file are read.
#[test]
fn unfinished_files_of_mcap_crate_are_read() {
    for (number, options) in options().into_iter().enumerate() {
        let bag = written_by_mcap_crate(options, false);
        let (messages, errors) = count(&bag);
        assert!(messages >= 20 && errors == 0, "{number}: {messages}, {errors} errors");
    }
    let one_chunk = WriteOptions::new().compression(None).chunk_size(None);
    let bag = written_by_mcap_crate(one_chunk, false);
    assert_eq!(count(&bag), (40, 0));
}
