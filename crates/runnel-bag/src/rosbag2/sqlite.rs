//! SQLite files of rosbag2, schema versions 1 to 4.

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::untrusted_database::{self, Budget};
use crate::bag::SelectedChannels;
use crate::{
    BagReader, Bytes, Channel, ChannelId, Encoding, Error, Format, Message, Schema, SchemaLanguage,
    Selection, Summary,
};

/// Messages of which time and id are read at once.
const PAGE: usize = 1024;

/// A file that is read. The library SQLite opens it by its path.
pub struct Reader {
    connection: Connection,
    budget: Budget,
    channels: Vec<Channel>,
    /// The channels by their ids in the file.
    ids: BTreeMap<i64, ChannelId>,
    summary: Summary,
    /// A decompressed copy, which is removed at the end.
    _temporary: Option<tempfile::TempPath>,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Database`] when the file cannot be read or is no bag.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (connection, budget) = untrusted_database::open(path)?;
        let (channels, ids) = channels(&connection)?;
        budget.renew();
        let summary = summary(&connection, &ids, path)?;
        Ok(Self { connection, budget, channels, ids, summary, _temporary: None })
    }

    /// Opens a file that is removed at the end.
    ///
    /// # Errors
    /// As [`Reader::open`].
    #[cfg(feature = "zstd")]
    pub(crate) fn open_temporary(path: tempfile::TempPath) -> Result<Self, Error> {
        let reader = Self::open(&path)?;
        Ok(Self { _temporary: Some(path), ..reader })
    }
}

impl BagReader for Reader {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn damage(&self) -> Option<&Error> {
        None
    }

    fn messages(
        &mut self,
        selection: &Selection,
    ) -> Box<dyn Iterator<Item = Result<Message, Error>> + Send + '_> {
        let start = selection.start.map_or(i64::MIN, |start| i64::try_from(start).unwrap_or(i64::MAX));
        Box::new(Messages {
            connection: &mut self.connection,
            budget: &self.budget,
            ids: &self.ids,
            channels: SelectedChannels::of(selection),
            end: selection.end,
            page: VecDeque::new(),
            after: (start, i64::MIN),
            is_at_end: false,
        })
    }
}

/// Time and id of a message, and the id of its topic.
struct Place {
    time: i64,
    id: i64,
    topic: i64,
}

impl Place {
    /// What the places are sorted by.
    fn key(&self) -> (i64, i64) {
        (self.time, self.id)
    }
}

struct Messages<'a> {
    /// Exclusive, as it is not shared between threads.
    connection: &'a mut Connection,
    budget: &'a Budget,
    ids: &'a BTreeMap<i64, ChannelId>,
    channels: SelectedChannels,
    end: Option<u64>,
    page: VecDeque<Place>,
    /// Time and id of the last message of the page.
    after: (i64, i64),
    is_at_end: bool,
}

impl Messages<'_> {
    fn load_page(&mut self) -> Result<(), Error> {
        self.budget.renew();
        let (time, id) = self.after;
        let end = self.end.map_or(i64::MAX, |end| i64::try_from(end).unwrap_or(i64::MAX));
        let mut statement = self.connection.prepare_cached(
            "SELECT timestamp, id, topic_id FROM messages
             WHERE timestamp >= ?1 AND timestamp <= ?3 AND NOT (timestamp = ?1 AND id <= ?2)
             ORDER BY timestamp, id LIMIT ?4",
        )?;
        let place = |row: &Row<'_>| Ok(Place { time: row.get(0)?, id: row.get(1)?, topic: row.get(2)? });
        let places = statement.query_map(params![time, id, end, PAGE as i64], place)?;
        self.page = places.collect::<Result<_, _>>()?;
        let keys = iter::once(self.after).chain(self.page.iter().map(Place::key));
        if !keys.is_sorted_by(|one, next| one < next) {
            self.page.clear();
            return Err(Error::Database("the index of the messages is damaged".to_owned()));
        }
        self.is_at_end = self.page.len() < PAGE;
        if let Some(last) = self.page.back() {
            self.after = last.key();
        }
        Ok(())
    }

    /// The message at this place, if it is selected.
    fn load(&self, place: &Place) -> Result<Option<Message>, Error> {
        let undefined = || Error::Database(format!("message {}: topic {} is unknown", place.id, place.topic));
        let channel = *self.ids.get(&place.topic).ok_or_else(undefined)?;
        if !self.channels.has(channel) {
            return Ok(None);
        }
        let mut statement = self.connection.prepare_cached("SELECT data FROM messages WHERE id = ?1")?;
        let data: Arc<Vec<u8>> = Arc::new(statement.query_row([place.id], |row| row.get(0))?);
        let log_time = log_time(place.time);
        let data = Bytes::part(&data, 0..data.len());
        Ok(Some(Message { channel, log_time, publish_time: log_time, sequence: 0, data }))
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<Message, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some(place) = self.page.pop_front() {
                if let Some(message) = self.load(&place).transpose() {
                    return Some(message);
                }
            }
            if self.is_at_end {
                return None;
            }
            if let Err(error) = self.load_page() {
                self.is_at_end = true;
                return Some(Err(error));
            }
        }
    }
}

fn log_time(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0)
}

/// The channels, and their positions by the ids of the topics.
fn channels(connection: &Connection) -> Result<(Vec<Channel>, BTreeMap<i64, ChannelId>), Error> {
    // Version 2 has the QoS, version 4 the hash and the definitions.
    let offered_qos = if has_column(connection, "topics", "offered_qos_profiles")? {
        "offered_qos_profiles"
    } else {
        "NULL"
    };
    let hash = if has_column(connection, "topics", "type_description_hash")? {
        "type_description_hash"
    } else {
        "NULL"
    };
    let query =
        format!("SELECT id, name, type, serialization_format, {offered_qos}, {hash} FROM topics ORDER BY id");
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query([])?;
    let (mut channels, mut ids) = (Vec::new(), BTreeMap::new());
    while let Some(row) = rows.next()? {
        let encoding: String = row.get(3)?;
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let type_name: String = row.get(2)?;
        ids.insert(row.get(0)?, ChannelId(channels.len() as u32));
        channels.push(Channel {
            topic: row.get(1)?,
            schema: schema(connection, &type_name)?,
            type_name,
            encoding: Encoding::from_name(&encoding),
            offered_qos: filled(row.get(4)?),
            type_hash: filled(row.get(5)?),
            ..Channel::default()
        });
    }
    Ok((channels, ids))
}

fn has_column(connection: &Connection, table: &str, column: &str) -> Result<bool, Error> {
    let mut statement = connection.prepare("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2")?;
    Ok(statement.exists([table, column])?)
}

fn schema(connection: &Connection, type_name: &str) -> Result<Schema, Error> {
    if !has_column(connection, "message_definitions", "encoded_message_definition")? {
        return Ok(Schema::default());
    }
    let mut statement = connection.prepare_cached(
        "SELECT encoding, encoded_message_definition FROM message_definitions WHERE topic_type = ?1",
    )?;
    let found = statement.query_row([type_name], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let found: Option<(String, String)> = found;
    Ok(found.map_or_else(Schema::default, |(encoding, definition)| Schema {
        // rosbag2 writes `unknown` for a type that it does not find.
        language: if encoding == "unknown" {
            SchemaLanguage::None
        } else {
            SchemaLanguage::from_name(&encoding)
        },
        data: definition.into_bytes(),
    }))
}

fn summary(connection: &Connection, ids: &BTreeMap<i64, ChannelId>, path: &Path) -> Result<Summary, Error> {
    let mut counts = vec![0; ids.len()];
    let mut statement = connection.prepare("SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (topic, count): (i64, i64) = (row.get(0)?, row.get(1)?);
        if let Some(id) = ids.get(&topic) {
            counts[id.index()] = count.unsigned_abs();
        }
    }
    let range = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (start, end): (Option<i64>, Option<i64>) =
        connection.query_row("SELECT MIN(timestamp), MAX(timestamp) FROM messages", [], range)?;
    Ok(Summary {
        format: Format::Rosbag2Sqlite,
        len: std::fs::metadata(path)?.len(),
        is_finished: true,
        start: start.map(log_time),
        end: end.map(log_time),
        counts,
        chunks: Vec::new(),
    })
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.to_string())
    }
}
