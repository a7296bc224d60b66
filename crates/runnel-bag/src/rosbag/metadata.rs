//! Metadata of a bag. Format 2.0 has none: they are records of a kind of their own behind the index. Other readers count
//! the records of the index and read nothing behind it.
//!
//! The header has the field `name`. The data are keys and values in turn, each with its length in 4 bytes before it.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::head::Head;
use super::records::{Fields, Op, length_prefixed, number, put};
use crate::chunks::Source;
use crate::{Error, Metadata};

/// Longest data and longest name, in bytes.
const LONGEST: u32 = 64 << 20;
const LONGEST_NAME: usize = 64 << 10;

/// Most records that are read.
const MOST: usize = 10_000;

/// The record of metadata; `None` if they are too long.
pub(super) fn record(metadata: &Metadata) -> Option<Vec<u8>> {
    let texts = metadata.values.iter().flat_map(|(key, value)| [key, value]);
    let data: Vec<u8> = texts.flat_map(|text| number(text.len()).into_iter().chain(text.bytes())).collect();
    if data.len() > LONGEST as usize || metadata.name.len() > LONGEST_NAME {
        return None;
    }
    let mut record = Vec::new();
    put(&mut record, Fields::of(Op::Metadata).with("name", metadata.name.as_bytes()), &data);
    Some(record)
}

/// Positions of the records from `at` on. They end with the first other record.
pub(super) fn positions<R: Read + Seek>(source: &mut Source<R>, at: u64) -> Result<Vec<u64>, Error> {
    let (mut positions, mut at) = (Vec::new(), at);
    while at < source.len() && positions.len() < MOST {
        match Head::read(source, at) {
            Err(Error::Io(error)) => return Err(Error::Io(error)),
            Ok(head) if head.fields().op() == Some(Op::Metadata as u8) => {
                positions.push(at);
                at = head.end();
            }
            // Anything else behind the index has no meaning.
            _ => break,
        }
    }
    Ok(positions)
}

/// Reads the records at these positions.
pub(super) fn read<R: Read + Seek>(
    source: &mut Source<R>,
    positions: &[u64],
) -> Result<Vec<Metadata>, Error> {
    let read = |at: &u64| {
        let head = Head::read(source, *at)?;
        let data = head.read_data(source, LONGEST)?;
        let name = head.fields().text("name").ok_or_else(|| head.malformed("the metadata have no name"))?;
        let values = values(&data).ok_or_else(|| head.malformed("the metadata have a false length"))?;
        Ok(Metadata { name, values })
    };
    positions.iter().map(read).collect()
}

fn values(data: &[u8]) -> Option<BTreeMap<String, String>> {
    let (mut values, mut rest) = (BTreeMap::new(), data);
    while !rest.is_empty() {
        let (key, behind) = length_prefixed(rest)?;
        let (value, behind) = length_prefixed(behind)?;
        let [key, value] = [key, value].map(|text| String::from_utf8_lossy(text).into_owned());
        values.insert(key, value);
        rest = behind;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::tests::{channel, message};
    use super::super::{Reader, Writer};
    use super::*;
    use crate::{BagReader, BagWriter};

    fn metadata(name: &str, value: &str) -> Metadata {
        Metadata { name: name.to_owned(), values: [("a=b\n".to_owned(), value.to_owned())].into() }
    }

    fn bag(all: &[Metadata]) -> Vec<u8> {
        let mut writer = Writer::new(Cursor::new(Vec::new())).unwrap();
        let id = writer.add_channel(&channel("/a")).unwrap();
        all.iter().for_each(|one| assert!(writer.add_metadata(one).unwrap()));
        writer.write(&message(id, 1, b"data")).unwrap();
        writer.finish().unwrap();
        assert!(matches!(writer.add_metadata(&metadata("x", "y")), Err(Error::Finished)));
        writer.into_disk().into_inner().into_inner()
    }

    #[test]
    fn metadata_are_read_as_written() {
        for all in [vec![], vec![metadata("x", ""), metadata("y", "long ".repeat(1000).trim())]] {
            let mut reader = Reader::open(Cursor::new(bag(&all))).unwrap();
            assert!(reader.summary().is_finished && reader.damage().is_none());
            assert_eq!(reader.metadata().unwrap(), all);
        }
    }

    /// They stand behind everything that makes the bag whole.
    #[test]
    fn damaged_metadata_do_no_harm() {
        let bag = bag(&[metadata("x", "y")]);
        let metadata_len = record(&metadata("x", "y")).unwrap().len();
        for cut in 1..=metadata_len {
            let mut reader = Reader::open(Cursor::new(bag[..bag.len() - cut].to_vec())).unwrap();
            assert!(reader.damage().is_none(), "{cut}");
            assert_eq!(reader.summary().counts, [1]);
            let read = reader.metadata();
            assert!(read.as_ref().map_or(true, Vec::is_empty), "{cut}: {read:?}");
        }
    }

    #[test]
    fn long_metadata_are_not_written() {
        assert_eq!(record(&metadata(&"x".repeat(LONGEST_NAME + 1), "")), None);
        assert_eq!(record(&metadata("x", &"y".repeat(LONGEST as usize))), None);
    }
}
