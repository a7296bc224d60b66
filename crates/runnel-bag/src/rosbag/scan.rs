//! Index made from the records of the whole file.

use std::io::{Read, Seek};

use super::head::Head;
use super::index::Index;
use super::records::{MAGIC, Op};
use super::stored_chunk;
use crate::Error;
use crate::chunks::Source;

/// Makes the index; zeros at the end are padding. Also returns the first damage, after which nothing is read.
pub(super) fn file<R: Read + Seek>(source: &mut Source<R>) -> Result<(Index, Option<Error>), Error> {
    let mut index = Index::default();
    let damage = match records(source, &mut index) {
        Err(Error::Io(error)) => return Err(Error::Io(error)),
        Ok(damage) => damage,
        Err(damage) => Some(damage),
    };
    Ok((index, damage))
}

/// Adds the records up to the first damage. Damage of a chunk of which a part is added is returned, not an error.
fn records<R: Read + Seek>(source: &mut Source<R>, index: &mut Index) -> Result<Option<Error>, Error> {
    let mut at = Head::read(source, MAGIC.len() as u64)?.end();
    while at < source.len() {
        let head = match Head::read(source, at) {
            Err(Error::Io(error)) => return Err(Error::Io(error)),
            Err(_) if source.is_zero_from(at)? => break,
            head => head?,
        };
        if head.fields().op().is_none() && source.is_zero_from(at)? {
            break;
        }
        if let Some(damage) = record(source, &head, index)? {
            return Ok(Some(damage));
        }
        if head.end() > source.len() {
            return Err(Error::Truncated { at });
        }
        at = head.end();
    }
    Ok(None)
}

/// Adds a record to the index; returns the damage of a chunk of which a part is added.
fn record<R: Read + Seek>(
    source: &mut Source<R>,
    head: &Head,
    index: &mut Index,
) -> Result<Option<Error>, Error> {
    match head.fields().op().and_then(Op::from_number) {
        Some(Op::Chunk) => chunk(source, head, index),
        Some(Op::Connection) => index.add_channel_record(source, head).map(|()| None),
        _ => Ok(None),
    }
}

fn chunk<R: Read + Seek>(
    source: &mut Source<R>,
    head: &Head,
    index: &mut Index,
) -> Result<Option<Error>, Error> {
    let (mut chunk, damage) = stored_chunk::load(source, head)?;
    for (id, channel) in std::mem::take(&mut chunk.contents.channels) {
        index.bag.add_channel(id, channel);
    }
    let loaded = index.loaded(head.at, chunk)?;
    index.bag.add_loaded(head.at, &loaded, damage.is_some());
    Ok(damage)
}
