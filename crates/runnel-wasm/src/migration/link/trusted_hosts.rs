//! The list of hosts that this host trusts.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::folder::{self, Others};
use super::{FileError, Fingerprint};

const FILE: &str = "trusted_hosts";

/// Bytes that the file may have: about 10 000 hosts.
const LONGEST: u64 = 1 << 20;

/// Characters that a name may have.
const LONGEST_NAME: usize = 100;

/// A host that this host trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedHost {
    /// The fingerprint of its certificate.
    pub fingerprint: Fingerprint,
    /// The name that the user has given to it, or the fingerprint.
    pub name: String,
}

/// The hosts that may connect to this host, and to which it connects: the file `trusted_hosts`.
///
/// It has one line for each host, `FINGERPRINT NAME`. The name may be missing. Empty lines and those that begin with `#` are
/// ignored. The file is read anew for each connection.
#[derive(Clone, Debug)]
pub struct TrustedHosts {
    folder: PathBuf,
}

impl TrustedHosts {
    /// The list in a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// All hosts, in the order of the file. None if there is no file.
    ///
    /// # Errors
    /// If the file cannot be read, other users can write it, or a line is not valid.
    pub fn list(&self) -> Result<Vec<TrustedHost>, FileError> {
        self.parse(&self.read()?)
    }

    /// The host with this fingerprint.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn find(&self, fingerprint: Fingerprint) -> Result<Option<TrustedHost>, FileError> {
        Ok(self.list()?.into_iter().find(|host| host.fingerprint == fingerprint))
    }

    /// Trusts a host, or gives a new name to one that is trusted already.
    ///
    /// # Errors
    /// As [`list`](Self::list), if the name is not valid or that of another host, or if the file cannot be written.
    pub fn add(&self, fingerprint: Fingerprint, name: Option<&str>) -> Result<(), FileError> {
        let name = name.map(str::trim).unwrap_or_default();
        check_name(name).map_err(|why| FileError::new(&self.path(), why))?;
        let line = format!("{fingerprint} {name}").trim_end().to_owned();
        self.change(|text| {
            let mut lines: Vec<&str> = text.lines().collect();
            match lines.iter().position(|line| fingerprint_of(line) == Some(fingerprint)) {
                Some(index) => lines[index] = &line,
                None => lines.push(&line),
            }
            joined(&lines)
        })
    }

    /// Trusts a host no more. Returns it, or `None` if there is no host with this fingerprint or name.
    ///
    /// # Errors
    /// As [`list`](Self::list), or if the file cannot be written.
    pub fn remove(&self, fingerprint_or_name: &str) -> Result<Option<TrustedHost>, FileError> {
        let is_meant = |host: &TrustedHost| {
            host.name == fingerprint_or_name || host.fingerprint.to_string() == fingerprint_or_name
        };
        let Some(host) = self.list()?.into_iter().find(is_meant) else { return Ok(None) };
        self.change(|text| {
            let others = text.lines().filter(|line| fingerprint_of(line) != Some(host.fingerprint));
            joined(&others.collect::<Vec<_>>())
        })?;
        Ok(Some(host))
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn read(&self) -> Result<String, FileError> {
        let path = self.path();
        let failed = |error: io::Error| FileError::new(&path, error);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(failed(error)),
        };
        folder::check(&path, &file.metadata().map_err(failed)?, Others::Read)?;
        let mut text = String::new();
        file.take(LONGEST + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > LONGEST {
            return Err(FileError::new(&path, format!("it has more than {LONGEST} bytes")));
        }
        Ok(text)
    }

    fn parse(&self, text: &str) -> Result<Vec<TrustedHost>, FileError> {
        let path = self.path();
        let mut hosts: Vec<TrustedHost> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let failed = |why: String| FileError::at_line(&path, index + 1, why);
            let Some((fingerprint, name)) = words(line) else { continue };
            let fingerprint: Fingerprint = fingerprint
                .parse()
                .map_err(|error| failed(format!("{error}. A line is FINGERPRINT NAME")))?;
            check_name(name).map_err(failed)?;
            let name = if name.is_empty() { fingerprint.to_string() } else { name.to_owned() };
            if hosts.iter().any(|host| host.fingerprint == fingerprint || host.name == name) {
                return Err(failed(format!("the fingerprint or the name {name} is on a line before, too")));
            }
            hosts.push(TrustedHost { fingerprint, name });
        }
        Ok(hosts)
    }

    /// Replaces the file at once. Processes that change it at the same time wait for each other.
    fn change(&self, change: impl FnOnce(&str) -> String) -> Result<(), FileError> {
        folder::create(&self.folder)?;
        let path = self.path();
        let failed = |error: io::Error| FileError::new(&path, error);
        let folder = File::open(&self.folder).map_err(failed)?;
        folder.lock().map_err(failed)?;
        let before = self.read()?;
        // Only a valid file is changed, and only to a valid one.
        self.parse(&before)?;
        let text = change(&before);
        self.parse(&text)?;
        let mut file =
            tempfile::Builder::new().prefix(".trusted-").tempfile_in(&self.folder).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        folder.sync_all().map_err(failed)
    }
}

/// The fingerprint and the name of a line. `None` for a comment.
fn words(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (fingerprint, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some((fingerprint, name.trim_start()))
}

fn fingerprint_of(line: &str) -> Option<Fingerprint> {
    words(line)?.0.parse().ok()
}

fn check_name(name: &str) -> Result<(), String> {
    let is_long = name.chars().count() > LONGEST_NAME;
    if is_long || name.chars().any(char::is_control) || name.parse::<Fingerprint>().is_ok() {
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        return Err(format!(
            "the name {shown:?} is not valid: at most {LONGEST_NAME} characters without control characters, and no fingerprint"
        ));
    }
    Ok(())
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
