use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::rosbag2::rebuilt_metadata;
use crate::{BagReader, ChannelId, Encoding, Error, Format, SchemaLanguage, Selection, open, open_folder};

/// Tables of each version of the schema, as rosbag2 makes them.
fn tables(version: u32) -> String {
    let mut tables = String::from(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
         data BLOB NOT NULL); CREATE INDEX timestamp_idx ON messages (timestamp ASC);",
    );
    let mut columns = String::from(
        "id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL",
    );
    if version >= 2 {
        columns.push_str(", offered_qos_profiles TEXT NOT NULL");
    }
    if version >= 3 {
        tables.push_str("CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);");
    }
    if version >= 4 {
        columns.push_str(", type_description_hash TEXT NOT NULL");
        tables.push_str(
            "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,
             encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
             INSERT INTO message_definitions
             VALUES(1, 'std_msgs/msg/String', 'ros2msg', 'string data', 'RIHS01_df66');",
        );
    }
    format!("{tables} CREATE TABLE topics({columns});")
}

/// 3000 messages, written in the reverse order of time; each third on the second topic.
fn write(path: &Path, version: u32) {
    let database = Connection::open(path).unwrap();
    database.execute_batch(&tables(version)).unwrap();
    for (id, topic) in [(1, "/a"), (7, "/b")] {
        let more =
            ["", "", ", '- depth: 1'", ", '- depth: 1'", ", '- depth: 1', 'RIHS01_df66'"][version as usize];
        let topic = format!("INSERT INTO topics VALUES({id}, '{topic}', 'std_msgs/msg/String', 'cdr'{more})");
        database.execute(&topic, []).unwrap();
    }
    database.execute_batch("BEGIN").unwrap();
    for number in (0..3000_i64).rev() {
        let topic = if number % 3 == 0 { 7 } else { 1 };
        let time = 1000 + number / 2;
        let values = rusqlite::params![topic, time, number.to_le_bytes()];
        let query = "INSERT INTO messages(topic_id, timestamp, data) VALUES(?1, ?2, ?3)";
        database.execute(query, values).unwrap();
    }
    database.execute_batch("COMMIT").unwrap();
}

#[test]
fn every_schema_version_is_read() {
    for version in 1..=4 {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("bag_0.db3"), version);
        let mut reader = open(folder.path()).unwrap();
        let summary = reader.summary();
        assert_eq!((summary.format, &summary.counts[..]), (Format::Rosbag2Sqlite, &[2000, 1000][..]));
        assert_eq!((summary.start, summary.end), (Some(1000), Some(2499)));
        let channel = &reader.channels()[1];
        assert_eq!((&*channel.topic, &channel.encoding), ("/b", &Encoding::Cdr));
        assert_eq!(channel.offered_qos.is_some(), version >= 2);
        assert_eq!(channel.type_hash.is_some(), version >= 4);
        let language = if version >= 4 { SchemaLanguage::Ros2Msg } else { SchemaLanguage::None };
        assert_eq!(channel.schema.language, language);
        let messages: Vec<_> = reader.messages(&Selection::default()).map(Result::unwrap).collect();
        let mut numbers: Vec<_> = messages
            .iter()
            .map(|message| u16::from(message.data[0]) + 256 * u16::from(message.data[1]))
            .collect();
        assert!(messages.is_sorted_by_key(|message| message.log_time));
        // Of two messages of one time, the second has the lower number.
        assert_eq!(numbers[..4], [1, 0, 3, 2]);
        numbers.sort_unstable();
        assert_eq!(numbers, (0..3000).collect::<Vec<_>>());
    }
}

#[test]
fn metadata_are_rebuilt_from_tables() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        write(&folder.path().join(format!("bag_{number}.db3")), 4);
    }
    let bag = open_folder(folder.path()).unwrap();
    assert!(!bag.summary().is_finished, "there are no metadata");
    let metadata = rebuilt_metadata(&bag, None).unwrap();
    assert_eq!((&*metadata.storage, metadata.start, metadata.duration), ("sqlite3", 1000, 1499));
    let topics: Vec<_> = metadata.topics.iter().map(|topic| (&*topic.name, topic.message_count)).collect();
    assert_eq!(topics, [("/a", 4000), ("/b", 2000)]);
    assert_eq!(metadata.topics[0].type_hash.as_deref(), Some("RIHS01_df66"));
    let files: Vec<_> = metadata.files.iter().map(|file| (&*file.path, file.message_count)).collect();
    assert_eq!(files, [("bag_0.db3", 3000), ("bag_1.db3", 3000)]);
}

#[test]
fn selection_limits_topics_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, 3);
    let mut reader = open(&path).unwrap();
    let selection = Selection { channels: Some(vec![ChannelId(1)]), start: Some(1010), end: Some(1012) };
    let times: Vec<_> = reader
        .messages(&selection)
        .map(|message| message.unwrap())
        .map(|message| (message.log_time, message.data[0]))
        .collect();
    assert_eq!(times, [(1010, 21), (1012, 24)]);
}

#[test]
fn cut_file_is_an_error_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, 4);
    let bytes = fs::read(&path).unwrap();
    let mut errors = 0;
    for cut in (16..bytes.len()).step_by(bytes.len() / 50) {
        fs::write(&path, &bytes[..cut]).unwrap();
        match open(&path) {
            Err(error) => {
                assert!(matches!(error, Error::InFile { .. }), "{error}");
                errors += 1;
            }
            Ok(mut reader) => {
                errors += usize::from(reader.messages(&Selection::default()).any(|message| message.is_err()))
            }
        }
    }
    assert!(errors > 45, "{errors}");
}

#[test]
fn compressed_file_is_decompressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, 4);
    let compressed = zstd::bulk::compress(&fs::read(&path).unwrap(), 1).unwrap();
    fs::write(&path, compressed).unwrap();
    assert_eq!(open(&path).unwrap().messages(&Selection::default()).map(Result::unwrap).count(), 3000);
}

/// A view can be endless, and a computed value as long as memory.
#[test]
fn computed_tables_are_refused() {
    let refused = |change: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, 4);
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        open(&path).err().unwrap().to_string()
    };
    for table in ["topics", "messages", "message_definitions"] {
        let view =
            format!("ALTER TABLE {table} RENAME TO stored; CREATE VIEW {table} AS SELECT * FROM stored");
        assert!(
            refused(&view).ends_with(&format!("SQLite: {table} is no plain table")),
            "{}",
            refused(&view)
        );
    }
    let column = "ALTER TABLE messages ADD COLUMN computed BLOB AS (zeroblob(1000000000))";
    assert!(refused(column).ends_with("SQLite: messages is no plain table"), "{}", refused(column));
}
