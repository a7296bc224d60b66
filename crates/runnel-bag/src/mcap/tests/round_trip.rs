use super::records::Content;
use super::*;
use crate::{Attachment, Error, Format, Metadata};

#[test]
fn written_messages_are_read_by_time() {
    for compression in COMPRESSIONS {
        for finishes in [true, false] {
            let bag = bag(&script(), *compression, finishes);
            assert!(open(&bag).damage().is_none());
            assert_eq!(read(&bag, &Selection::default()), by_time(&script()), "{compression:?} {finishes}");
        }
    }
}

#[test]
fn channels_and_summary_are_read_as_written() {
    for finishes in [true, false] {
        let bag = bag(&script(), Compression::Lz4, finishes);
        let reader = open(&bag);
        assert_eq!(reader.channels(), ["/ros1", "/ros2", "/json"].map(channel));
        assert_eq!(reader.chunks().len(), 8);
        let summary = reader.summary();
        assert_eq!((summary.is_finished, summary.len), (finishes, bag.len() as u64));
        assert_eq!((summary.start, summary.end), (Some(985), Some(1390)));
        assert_eq!((summary.format, &summary.counts[..]), (Format::Mcap, &[14, 13, 13][..]));
        let [(Compression::Lz4, totals)] = summary.chunks[..] else { panic!("{:?}", summary.chunks) };
        assert!(totals.count == 8 && totals.decompressed > 40 * 31 && totals.stored > 0);
    }
}

#[test]
fn selection_limits_topics_and_times() {
    for finishes in [true, false] {
        let bag = bag(&script(), Compression::None, finishes);
        let channels = Some(vec![ChannelId(1)]);
        let selection = Selection { channels, start: Some(1105), end: Some(1215) };
        let expected: Vec<_> = by_time(&script())
            .into_iter()
            .filter(|(topic, time, _)| topic == "/ros2" && (1105..=1215).contains(time))
            .collect();
        assert_eq!(expected.len(), 3);
        assert_eq!(read(&bag, &selection), expected);
    }
}

#[test]
fn sequence_numbers_are_kept() {
    let bag = bag(&script(), Compression::None, true);
    let mut reader = open(&bag);
    let mut numbers: Vec<u32> =
        reader.messages(&Selection::default()).map(|message| message.unwrap().sequence).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
}

#[test]
fn profile_is_kept() {
    for (profile, name) in [(Profile::Ros1, "ros1"), (Profile::Ros2, "ros2"), (Profile::None, "")] {
        let mut writer = Writer::new(Cursor::new(Vec::new()), profile).unwrap();
        writer.add_channel(&channel("/ros2")).unwrap();
        writer.flush().unwrap();
        writer.finish().unwrap();
        let bag = writer.into_disk().into_inner().into_inner();
        let reader = open(&bag);
        assert!(reader.summary().is_finished && reader.damage().is_none());
        assert_eq!(reader.profile(), name);
        assert_eq!((reader.summary().start, &reader.summary().counts[..]), (None, &[0][..]));
        assert_eq!(reader.channels(), [channel("/ros2")]);
        assert_eq!(count(&bag), (0, 0));
    }
}

/// The buffer has space for a few messages, and some messages are longer than it.
#[test]
fn file_on_a_disk_of_blocks_is_the_file() {
    let script: Vec<Written> = (0..60)
        .map(|number: u64| ("/ros2", number + 1, vec![number as u8; 37 * (number as usize % 20)]))
        .collect();
    for (block, buffer) in [(16, 256), (512, 512), (64, 6400), (4096, 8192)] {
        for compression in COMPRESSIONS {
            for finishes in [true, false] {
                let mut writer = Writer::on_disk(MemoryDisk::new(block, buffer), Profile::Ros2).unwrap();
                writer.set_compression(*compression).unwrap();
                write_script(&mut writer, &script);
                if finishes { writer.finish() } else { writer.flush() }.unwrap();
                let disk = writer.into_disk();
                let damage = open(disk.bytes()).damage().map(ToString::to_string);
                assert_eq!(damage, None, "{block} {buffer} {compression:?} {finishes}");
                assert_eq!(open(disk.bytes()).summary().is_finished, finishes);
                assert_eq!(read(disk.bytes(), &Selection::default()), by_time(&script));
            }
        }
    }
}

fn attachment() -> Attachment {
    Attachment {
        name: "map.yaml".into(),
        media_type: "text/yaml".into(),
        log_time: 7,
        create_time: 5,
        data: b"resolution: 0.05".repeat(100),
    }
}

fn with_attachment(finishes: bool) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), Profile::None).unwrap();
    write_script(&mut writer, &script()[..7]);
    writer.add_attachment(&attachment()).unwrap();
    let values = [("/ros1".to_owned(), "3".to_owned())].into();
    assert!(writer.add_metadata(&Metadata { name: "lost".into(), values }).unwrap());
    write_script(&mut writer, &script()[7..9]);
    if finishes { writer.finish() } else { writer.flush() }.unwrap();
    writer.into_disk().into_inner().into_inner()
}

#[test]
fn attachments_and_metadata_are_read_as_written() {
    for finishes in [true, false] {
        let bag = with_attachment(finishes);
        let mut reader = open(&bag);
        let [info] = reader.attachments() else { panic!("{:?}", reader.attachments()) };
        let info = info.clone();
        assert_eq!((&*info.name, info.len), ("map.yaml", 1600));
        assert_eq!(reader.read_attachment(&info).unwrap(), attachment());
        let mut copy = Vec::new();
        reader.copy_attachment(&info, &mut copy).unwrap();
        assert_eq!(copy, attachment().data);
        let metadata = reader.metadata().unwrap();
        assert_eq!((metadata.len(), &*metadata[0].name, &*metadata[0].values["/ros1"]), (1, "lost", "3"));
        assert_eq!(count(&bag), (9, 0));
    }
}

#[test]
fn damaged_attachment_is_an_error() {
    let bag = with_attachment(true);
    let place = bag.windows(10).position(|bytes| bytes == b"resolution").unwrap();
    let mut damaged = bag.clone();
    damaged[place] ^= 1;
    let mut reader = open(&damaged);
    let info = reader.attachments()[0].clone();
    let error = reader.read_attachment(&info).unwrap_err();
    assert!(matches!(error, Error::Checksum { at } if at == info.position));
}

#[test]
fn invalid_additions_are_refused() {
    let mut writer = Writer::new(Cursor::new(Vec::new()), Profile::None).unwrap();
    let message =
        NewMessage { channel: ChannelId(0), log_time: 0, publish_time: 0, sequence: 0, data: b"".into() };
    assert!(matches!(writer.write(&message), Err(Error::UnknownChannel { index: 0 })));
    assert!(matches!(
        writer.set_compression(Compression::Bz2),
        Err(Error::UnsupportedCompression { name, .. }) if name == "bz2"
    ));
    writer.add_channel(&channel("/ros1")).unwrap();
    for _ in 1..65535 {
        writer.add_channel(&Channel::default()).unwrap();
    }
    assert!(matches!(writer.add_channel(&Channel::default()), Err(Error::UnsupportedChannel { .. })));
    writer.finish().unwrap();
    assert!(matches!(writer.write(&message), Err(Error::Finished)));
}

/// As the registry of MCAP's profiles has them.
#[test]
fn profiles_keys_have_values_of_the_registry() {
    let record = |channel: &Channel| {
        let record = channel::record(channel, 1, 0);
        let mut fields = records::Fields::new(&record[9..]);
        let _ = (fields.u16(), fields.u16(), fields.text(), fields.text());
        fields.texts().unwrap()
    };
    assert_eq!(record(&channel("/ros1"))["latching"], "true");
    assert_eq!(record(&channel("/ros1")).get("offered_qos_profiles"), None);
    assert_eq!(record(&channel("/ros2"))["offered_qos_profiles"], "- depth: 10\n");
    assert_eq!(record(&Channel { offered_qos: None, ..channel("/ros2") })["offered_qos_profiles"], "[]");
}

#[test]
fn latching_of_any_recorder_and_empty_list_of_qos_are_read() {
    for (latching, expected) in [("true", true), ("1", true), ("false", false), ("0", false)] {
        let metadata = [("latching", latching), ("offered_qos_profiles", "[]")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let content = Content::default().u16(1).u16(0).text("/a").text("cdr").texts(&metadata.into());
        let record = channel::ChannelRecord::parse(content.as_bytes()).unwrap();
        let channel = record.into_channel(None);
        assert_eq!((channel.latching, channel.offered_qos), (expected, None), "{latching}");
    }
}

/// A recorder says from time to time what it has lost.
#[test]
fn last_metadata_of_a_name_count() {
    let mut writer = Writer::new(Cursor::new(Vec::new()), Profile::None).unwrap();
    let metadata = |name: &str, value: &str| Metadata {
        name: name.to_owned(),
        values: [("/a".to_owned(), value.to_owned())].into(),
    };
    for (name, value) in [("runnel.loss", "1"), ("note", "1"), ("runnel.loss", "2"), ("note", "2")] {
        assert!(writer.update_metadata(&metadata(name, value)).unwrap());
    }
    writer.flush().unwrap();
    let read = |file: Vec<u8>| Reader::open(Cursor::new(file)).unwrap().metadata().unwrap();
    let expected = [metadata("note", "1"), metadata("runnel.loss", "2"), metadata("note", "2")];
    writer.finish().unwrap();
    assert_eq!(read(writer.into_disk().into_inner().into_inner()), expected);
}
