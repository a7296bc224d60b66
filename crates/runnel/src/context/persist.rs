//! Master with persistent parameters: each change is written to a file before it is applied and its setter gets an
//! answer. A change that the file cannot store is not applied, and its setter gets an error.
//!
//! The file is a journal of changes. Each one is an XML-RPC call of `setParam` or `deleteParam`, after its length on a
//! separate line. The first line of the file is a title. A truncated change ends the journal. The file is compacted at
//! every start, and when it has grown many times over. A journal that could not be restored completely is first kept
//! as `FILE.damaged`.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use runnel_core::time::Instant;
use runnel_ros1::master::{Master, MasterConfig, ParamChange, ParamStore};
use runnel_ros1::net::{ConnId, Transmit};
use runnel_ros1::node::Port;
use runnel_ros1::xmlrpc::{Value, decode_call, encode_call};

use crate::driver::{EngineEvent, ProtocolEngine};
use crate::error::Error;
use crate::log_output::console;

/// First line of a journal.
const TITLE: &[u8] = b"# parameters kept by runnel master\n";

/// Error for a file with another first line.
const NO_JOURNAL: &str = "it is not a journal of parameters. Try: 'runnel param load' for a YAML file";

/// Bytes up to which a journal is never compacted.
const SHORT: u64 = 1 << 20;

/// How many times longer than after its last compaction a journal becomes before it is compacted.
const GROWTH: u64 = 4;

/// Limit of damaged journals that are kept; the last one is overwritten.
const DAMAGED: usize = 99;

/// The two methods in a journal.
const SET: &str = "setParam";
const DELETE: &str = "deleteParam";

/// A master that stores its parameters in a file, with warnings about the file to report.
pub(crate) struct PersistentMaster {
    master: Master,
    notices: VecDeque<EngineEvent>,
}

impl PersistentMaster {
    /// A master that begins with the parameters in the file.
    ///
    /// # Errors
    /// If the file cannot be read or written, or another master uses it.
    pub(crate) fn new(config: MasterConfig, path: &Path) -> Result<Self, Error> {
        let cannot = |error: io::Error| {
            Error::Io(io::Error::new(
                error.kind(),
                format!("cannot store parameters in {}: {error}", path.display()),
            ))
        };
        let mut master = Master::new(config);
        let mut journal = Journal::open(path).map_err(cannot)?;
        let (changes, damage) = journal.read().map_err(cannot)?;
        let mut warnings: Vec<String> =
            damage.map(|damage| format!("{}: {damage}", path.display())).into_iter().collect();
        for change in changes {
            if let Err(why) = master.restore_param(&change) {
                let (file, key) = (path.display(), &change.key);
                warnings.push(format!("{file}: parameter {key} is not restored: {why}"));
            }
        }
        if !warnings.is_empty() {
            journal.tail = Tail::Damaged;
        }
        match journal.compact_keeping_damaged(master.params()) {
            Ok(kept) => warnings.extend(kept),
            Err(error) if journal.bytes == 0 => return Err(cannot(error)),
            // On a full disk, a master with its parameters is better than none.
            Err(error) => warnings.push(format!("{} cannot be compacted: {error}", path.display())),
        }
        master.set_param_store(Box::new(journal));
        Ok(Self { master, notices: warnings.into_iter().map(EngineEvent::Warning).collect() })
    }
}

impl ProtocolEngine for PersistentMaster {
    fn handle_accepted(&mut self, now: Instant, _: Port, peer: SocketAddr) -> Option<ConnId> {
        self.master.handle_accepted(now, peer)
    }
    fn handle_connected(&mut self, now: Instant, conn: ConnId) {
        self.master.handle_connected(now, conn);
    }
    fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        self.master.handle_data(now, conn, bytes);
    }
    fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        self.master.handle_closed(now, conn, why);
    }
    fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.master.handle_unresolved(now, conn, why);
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.master.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.master.poll_timeout()
    }
    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.master.poll_transmit()
    }
    fn poll_engine_event(&mut self) -> Option<EngineEvent> {
        self.notices.pop_front().or_else(|| self.master.poll_engine_event())
    }
}

/// The journal file.
#[derive(Debug)]
struct Journal {
    path: PathBuf,
    file: File,
    /// The length of its valid part, and the length after the last compaction.
    bytes: u64,
    compacted_bytes: u64,
    tail: Tail,
}

/// Data behind the valid part of a journal. A change appended to it could not be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    Nothing,
    /// An incomplete change, which is truncated.
    Incomplete,
    /// Data that could not be restored at the start. It is kept in another file when the journal is compacted.
    Damaged,
}

impl ParamStore for Journal {
    fn store(&mut self, key: &str, value: Option<&Value>, present: Option<&Value>) -> Result<(), String> {
        let stored = record(key, value).and_then(|record| {
            self.prepare(present)?;
            match self.append(&record) {
                // On a full disk, compaction may free space.
                Err(_) if self.bytes > self.compacted_bytes && self.compact(present).is_ok() => {
                    self.append(&record)
                }
                stored => stored,
            }
        });
        stored.map_err(|error| format!("it cannot be stored in {}: {error}", self.path.display()))
    }
}

impl Journal {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        let opened = file.metadata()?;
        if !opened.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        lock(&file)?;
        // The target of a symbolic link is compacted, not the link.
        let path = path.canonicalize()?;
        // After a compaction by another process, the locked file is not this one any more.
        let there = fs::metadata(&path)?;
        if (there.dev(), there.ino()) != (opened.dev(), opened.ino()) {
            return Err(in_use());
        }
        Ok(Self { path, file, bytes: 0, compacted_bytes: 0, tail: Tail::Nothing })
    }

    /// The changes in the file, and what is wrong behind them.
    fn read(&mut self) -> io::Result<(Vec<ParamChange>, Option<String>)> {
        let text = fs::read(&self.path)?;
        // Empty, or truncated within the title.
        if TITLE.starts_with(&text) && text.len() < TITLE.len() {
            return Ok((Vec::new(), None));
        }
        let mut rest = text.strip_prefix(TITLE).ok_or_else(|| io::Error::other(NO_JOURNAL))?;
        let mut changes = Vec::new();
        while !rest.is_empty() {
            self.bytes = (text.len() - rest.len()) as u64;
            let Some((change, behind)) = next_change(rest) else {
                let at = self.bytes;
                return Ok((changes, Some(format!("invalid data from byte {at} on is ignored"))));
            };
            changes.push(change);
            rest = behind;
        }
        self.bytes = text.len() as u64;
        Ok((changes, None))
    }

    /// Copies the file within its directory. Returns the path of the copy, and a warning that names it.
    fn keep_copy(&self) -> io::Result<(PathBuf, String)> {
        let named = |number| match number {
            1 => self.sibling(".damaged"),
            _ => self.sibling(&format!(".damaged.{number}")),
        };
        let free = (1..=DAMAGED).map(named).find(|path| fs::symlink_metadata(path).is_err());
        let (copy, instead) = match free {
            Some(path) => (path, ""),
            None => (named(DAMAGED), ", in place of an older one"),
        };
        if !instead.is_empty() {
            fs::remove_file(&copy)?;
        }
        // A hard link needs no space on a full disk, but not every file system supports it.
        let kept = fs::hard_link(&self.path, &copy).or_else(|_| fs::copy(&self.path, &copy).map(drop));
        if let Err(error) = kept {
            let _ = fs::remove_file(&copy);
            let text = format!("it is damaged, and cannot be kept as {}: {error}", copy.display());
            return Err(io::Error::new(error.kind(), text));
        }
        let kept =
            format!("{}: the damaged file is kept as {}{instead}", self.path.display(), copy.display());
        Ok((copy, kept))
    }

    fn sibling(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        path.into()
    }

    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.truncate()?;
        if let Err(error) = self.file.write_all(record) {
            self.tail = Tail::Incomplete;
            // On failure it is tried again before the next change.
            let _ = self.truncate();
            return Err(error);
        }
        self.bytes += record.len() as u64;
        Ok(())
    }

    /// Truncates an incomplete change, since nothing behind it could be read again.
    fn truncate(&mut self) -> io::Result<()> {
        if self.tail == Tail::Incomplete {
            self.file.set_len(self.bytes)?;
            self.tail = Tail::Nothing;
        }
        Ok(())
    }

    /// Prepares the file for another change.
    fn prepare(&mut self, present: Option<&Value>) -> io::Result<()> {
        if self.tail == Tail::Damaged {
            let kept = self.compact_keeping_damaged(present)?;
            kept.into_iter().for_each(|kept| console::warning!("{kept}"));
        } else if let Err(error) = self.compact_if_long(present) {
            console::warning!("{} cannot be compacted: {error}", self.path.display());
        }
        Ok(())
    }

    /// Compacts the file. If it could not be restored completely, keeps a copy first and returns a warning about that.
    fn compact_keeping_damaged(&mut self, params: Option<&Value>) -> io::Result<Option<String>> {
        if self.tail != Tail::Damaged {
            return self.compact(params).map(|()| None);
        }
        let (copy, kept) = self.keep_copy()?;
        if let Err(error) = self.compact(params) {
            // The journal is unchanged, and compaction is tried again later.
            let _ = fs::remove_file(&copy);
            return Err(error);
        }
        Ok(Some(kept))
    }

    /// Compacts the file if it has become long.
    fn compact_if_long(&mut self, params: Option<&Value>) -> io::Result<()> {
        if self.bytes <= SHORT.max(self.compacted_bytes.saturating_mul(GROWTH)) {
            return Ok(());
        }
        let compacted = self.compact(params);
        // After a failure it is not tried again at every change.
        self.compacted_bytes = self.bytes;
        compacted
    }

    /// Writes a new file with the current parameters, and replaces the old one.
    fn compact(&mut self, params: Option<&Value>) -> io::Result<()> {
        let mut text = TITLE.to_vec();
        if let Some(Value::Struct(members)) = params {
            for (name, value) in members {
                snapshot(&format!("/{name}"), value, &mut text)?;
            }
        }
        let new_path = self.sibling(".new");
        let file = OpenOptions::new().create(true).append(true).open(&new_path)?;
        lock(&file)?;
        if let Err(error) = self.replace(&file, &new_path, &text) {
            // An incomplete file would only use up space.
            let _ = fs::remove_file(&new_path);
            return Err(error);
        }
        let bytes = text.len() as u64;
        (self.bytes, self.compacted_bytes, self.file, self.tail) = (bytes, bytes, file, Tail::Nothing);
        Ok(())
    }

    /// Writes a file and replaces the old one by it, with the same owner and permissions.
    fn replace(&self, mut file: &File, new_path: &Path, text: &[u8]) -> io::Result<()> {
        let old = self.file.metadata()?;
        file.set_len(0)?;
        // Only root can change the owner.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        file.set_permissions(old.permissions())?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(new_path, &self.path)
    }
}

impl Drop for Journal {
    /// Unlocks explicitly: a child process that is just being started may hold the descriptor a little longer.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Locks the file for one master.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(in_use()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn in_use() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "another master stores its parameters there")
}

/// The first change in `text`, and the data behind it.
fn next_change(text: &[u8]) -> Option<(ParamChange, &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let length: usize = std::str::from_utf8(&text[..end]).ok()?.parse().ok()?;
    let (body, behind) = text[end + 1..].split_at_checked(length)?;
    let call = decode_call(body).ok()?;
    let change = match (call.method.as_str(), call.params.as_slice()) {
        (SET, [Value::String(key), value]) => ParamChange { key: key.clone(), value: Some(value.clone()) },
        (DELETE, [Value::String(key)]) => ParamChange { key: key.clone(), value: None },
        _ => return None,
    };
    Some((change, behind.strip_prefix(b"\n")?))
}

/// The record of a change: of a key to a value, or of a deletion without one.
fn record(key: &str, value: Option<&Value>) -> io::Result<Vec<u8>> {
    let method = if value.is_some() { SET } else { DELETE };
    let key = Value::from(key);
    let body = encode_call(method, std::iter::once(&key).chain(value)).map_err(io::Error::other)?;
    Ok([format!("{}\n", body.len()).as_bytes(), &body, b"\n"].concat())
}

/// Appends records that set a parameter and all below it: one or, where that is too much for one call, several.
fn snapshot(key: &str, value: &Value, text: &mut Vec<u8>) -> io::Result<()> {
    match (record(key, Some(value)), value) {
        (Ok(record), _) => text.extend(record),
        (Err(_), Value::Struct(members)) => {
            for (name, value) in members {
                snapshot(&format!("{key}/{name}"), value, text)?;
            }
        }
        (Err(error), _) => return Err(error),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
