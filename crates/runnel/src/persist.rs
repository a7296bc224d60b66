//! A master whose parameters outlive it: every change is in a file before its setter is answered.
//!
//! The file is a journal of changes, each a call of `setParam` or `deleteParam` in XML-RPC's own form, led by its length
//! on a line of its own; its first line says what it is. What was cut off in the middle of a change ends the journal. It is written anew, shorter, at
//! every start and when it has grown many times over.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use runnel_core::time::Instant;
use runnel_ros1::master::{Master, MasterConfig, ParamChange};
use runnel_ros1::net::{ConnId, Transmit};
use runnel_ros1::node::Port;
use runnel_ros1::xmlrpc::{Value, decode_call, encode_call};

use crate::driver::{Notice, Verbs};
use crate::error::Error;

/// How a journal begins.
const TITLE: &[u8] = b"# parameters kept by runnel master\n";

/// Bytes that a journal may always have before it is written anew.
const SHORT: u64 = 1 << 20;

/// How many times longer than at its last writing a journal becomes before it is written anew.
const GROWTH: u64 = 4;

/// The two methods that stand in a journal.
const SET: &str = "setParam";
const DELETE: &str = "deleteParam";

/// A master and the file that its parameters are kept in.
pub(crate) struct PersistentMaster {
    master: Master,
    journal: Journal,
    notices: VecDeque<Notice>,
}

impl PersistentMaster {
    /// A master that begins with the parameters that the file holds.
    ///
    /// # Errors
    /// When the file cannot be read or written, or another master keeps its parameters there.
    pub(crate) fn new(config: MasterConfig, path: &Path) -> Result<Self, Error> {
        let cannot = |error: io::Error| {
            Error::Io(io::Error::new(
                error.kind(),
                format!("cannot keep parameters in {}: {error}", path.display()),
            ))
        };
        let mut master = Master::new(config);
        let mut notices = VecDeque::new();
        let mut journal = Journal::open(path).map_err(cannot)?;
        let (changes, torn) = journal.read().map_err(cannot)?;
        if let Some(torn) = torn {
            notices.push_back(Notice::Warning(format!("{}: {torn}", path.display())));
        }
        for change in changes {
            if let Err(why) = master.restore_param(&change) {
                notices
                    .push_back(Notice::Warning(format!("parameter {} is not restored: {why}", change.key)));
            }
        }
        master.note_param_changes();
        journal.write_anew(master.params()).map_err(cannot)?;
        Ok(Self { master, journal, notices })
    }

    /// Writes down what has changed.
    fn keep(&mut self) {
        while let Some(change) = self.master.poll_param_change() {
            let kept = self.journal.append(&change).and_then(|()| self.journal.shorten(self.master.params()));
            if let Err(error) = kept {
                let (key, path) = (&change.key, self.journal.path.display());
                self.notices
                    .push_back(Notice::Warning(format!("parameter {key} is not kept in {path}: {error}")));
            }
        }
    }
}

impl Verbs for PersistentMaster {
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
    fn handle_timeout(&mut self, now: Instant) {
        self.master.handle_timeout(now);
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.master.poll_timeout()
    }
    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.keep();
        self.master.poll_transmit()
    }
    fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front().or_else(|| self.master.poll_notice())
    }
}

/// The file.
struct Journal {
    path: PathBuf,
    file: File,
    /// How long it is, and was when it was last written anew.
    bytes: u64,
    short: u64,
}

impl Journal {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        lock(&file)?;
        // One that has been written anew meanwhile is not the file that was locked.
        if fs::metadata(path)?.ino() != file.metadata()?.ino() {
            return Err(in_use());
        }
        Ok(Self { path: path.to_owned(), file, bytes: 0, short: 0 })
    }

    /// The changes that the file holds, and what is wrong behind them.
    fn read(&mut self) -> io::Result<(Vec<ParamChange>, Option<String>)> {
        let text = fs::read(&self.path)?;
        if text.is_empty() {
            return Ok((Vec::new(), None));
        }
        let mut rest = text.strip_prefix(TITLE).ok_or_else(|| io::Error::other("it holds something else"))?;
        let mut changes = Vec::new();
        while !rest.is_empty() {
            let Some((change, behind)) = next_change(rest) else {
                let at = text.len() - rest.len();
                return Ok((
                    changes,
                    Some(format!("what stands behind byte {at} is no change: passed over")),
                ));
            };
            changes.push(change);
            rest = behind;
        }
        Ok((changes, None))
    }

    fn append(&mut self, change: &ParamChange) -> io::Result<()> {
        let bytes = record(change)?;
        self.file.write_all(&bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes the file anew if it has become long.
    fn shorten(&mut self, params: Option<&Value>) -> io::Result<()> {
        if self.bytes <= SHORT.max(self.short.saturating_mul(GROWTH)) {
            Ok(())
        } else {
            self.write_anew(params)
        }
    }

    /// Writes a file of the present parameters and puts it in the place of the old one.
    fn write_anew(&mut self, params: Option<&Value>) -> io::Result<()> {
        let mut text = TITLE.to_vec();
        if let Some(Value::Struct(members)) = params {
            for (name, value) in members {
                snapshot(&format!("/{name}"), value, &mut text)?;
            }
        }
        let mut aside = self.path.clone().into_os_string();
        aside.push(".new");
        let mut file = OpenOptions::new().create(true).append(true).open(&aside)?;
        lock(&file)?;
        file.set_len(0)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&aside, &self.path)?;
        (self.bytes, self.short, self.file) = (text.len() as u64, text.len() as u64, file);
        Ok(())
    }
}

/// One master at a time.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(in_use()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn in_use() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "another master keeps its parameters there")
}

/// The change that `text` begins with, and what stands behind it.
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

fn record(change: &ParamChange) -> io::Result<Vec<u8>> {
    let key = Value::from(change.key.as_str());
    let body = match &change.value {
        Some(value) => encode_call(SET, &[key, value.clone()]),
        None => encode_call(DELETE, &[key]),
    };
    let body = body.map_err(io::Error::other)?;
    Ok([format!("{}\n", body.len()).as_bytes(), &body, b"\n"].concat())
}

/// Appends what sets a parameter and all below it: at once or, where that is too much for one call, in parts.
fn snapshot(key: &str, value: &Value, text: &mut Vec<u8>) -> io::Result<()> {
    let change = ParamChange { key: key.to_owned(), value: Some(value.clone()) };
    match (record(&change), value) {
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
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("runnel_persist_{name}_{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        fn file(&self) -> PathBuf {
            self.0.join("params")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn set(key: &str, value: impl Into<Value>) -> ParamChange {
        ParamChange { key: key.to_owned(), value: Some(value.into()) }
    }

    fn start(folder: &Folder) -> PersistentMaster {
        PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &folder.file()).expect("a master")
    }

    fn warnings(master: &mut PersistentMaster) -> Vec<String> {
        let notices = std::iter::from_fn(|| master.poll_notice());
        notices
            .filter_map(|notice| if let Notice::Warning(text) = notice { Some(text) } else { None })
            .collect()
    }

    #[test]
    fn what_was_kept_is_there_again() {
        let folder = Folder::new("again");
        let mut master = start(&folder);
        let text = "<a> & \"b\"\n17\n";
        let list = Value::Array(vec![1.5.into(), false.into()]);
        for change in [set("/a/b", text), set("/list", list), set("/gone", 3), set("/a/c", i32::MIN)] {
            master.journal.append(&change).expect("kept");
        }
        master.journal.append(&ParamChange { key: "/gone".into(), value: None }).expect("kept");
        drop(master);
        for _ in 0..2 {
            let mut master = start(&folder);
            let Some(Value::Struct(params)) = master.master.params().cloned() else { panic!("parameters") };
            assert_eq!(params.keys().collect::<Vec<_>>(), ["a", "list"]);
            let Value::Struct(below) = &params["a"] else { panic!("{params:?}") };
            assert_eq!((&below["b"], &below["c"]), (&text.into(), &i32::MIN.into()));
            assert_eq!(warnings(&mut master), [""; 0]);
        }
    }

    #[test]
    fn a_change_that_was_cut_off_is_passed_over_and_what_was_before_it_counts() {
        let folder = Folder::new("torn");
        let mut master = start(&folder);
        master.journal.append(&set("/whole", 1)).expect("kept");
        let whole = fs::read(folder.file()).expect("readable");
        master.journal.append(&set("/torn", 2)).expect("kept");
        drop(master);
        let text = fs::read(folder.file()).expect("readable");
        for length in whole.len() + 1..text.len() {
            fs::write(folder.file(), &text[..length]).expect("written");
            let mut master = start(&folder);
            let Some(Value::Struct(params)) = master.master.params() else { panic!("parameters") };
            assert_eq!(params.keys().collect::<Vec<_>>(), ["whole"], "{length}");
            let [warning] = &warnings(&mut master)[..] else { panic!("one warning at {length}") };
            assert!(warning.contains(&format!("behind byte {}", whole.len())), "{warning}");
        }
    }

    #[test]
    fn a_journal_of_one_parameter_that_changes_all_the_time_stays_short() {
        let folder = Folder::new("short");
        let mut master = start(&folder);
        let long = "x".repeat(10_000);
        for number in 0..1000 {
            let change = set("/pose", format!("{number} {long}"));
            master.master.restore_param(&change).expect("set");
            master.journal.append(&change).expect("kept");
            master.journal.shorten(master.master.params()).expect("kept");
        }
        assert!(fs::metadata(folder.file()).expect("there").len() <= SHORT + 20_000);
        drop(master);
        let Some(Value::Struct(params)) = start(&folder).master.params().cloned() else {
            panic!("parameters")
        };
        assert_eq!(params["pose"], format!("999 {long}").into());
    }

    #[test]
    fn two_masters_do_not_share_a_file() {
        let folder = Folder::new("two");
        let _first = start(&folder);
        let second = PersistentMaster::new(MasterConfig::new("http://h:2/", 2), &folder.file());
        let error = second.err().expect("refused").to_string();
        assert!(error.contains("another master keeps its parameters there"), "{error}");
    }

    #[test]
    fn what_is_no_journal_is_left_alone() {
        let folder = Folder::new("other");
        fs::write(folder.file(), "speed: 3\n").expect("written");
        let master = PersistentMaster::new(MasterConfig::new("http://h:1/", 1), &folder.file());
        let error = master.err().expect("refused").to_string();
        assert!(error.contains("it holds something else"), "{error}");
        assert_eq!(fs::read(folder.file()).expect("readable"), b"speed: 3\n");
    }
}
