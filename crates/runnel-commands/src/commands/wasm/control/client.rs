//! The side of commands.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runnel_wasm::migration::MoveAnswer;

use super::{Answer, ENDED, KEPT, Request, Side, folders};
use crate::error::CliError;

/// How long a process may take for its answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a node may take to move.
const MOVE_TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes of the head of an answer.
const LONGEST_HEAD: u64 = 1 << 20;

/// A process that hosts a node.
pub struct HostProcess {
    socket: PathBuf,
}

/// The process of this user that hosts a node with this full name.
///
/// # Errors
/// If there is none, or more than one.
pub fn find(node: &str) -> Result<HostProcess, CliError> {
    let (found, all) = search(node);
    named(node, found, all)
}

/// Whether a process of this user hosts such a node.
pub fn is_here(node: &str) -> bool {
    !search(node).0.is_empty()
}

/// The processes that host a node of this name, and the names of all nodes.
fn search(node: &str) -> (Vec<HostProcess>, Vec<String>) {
    let mut all = Vec::new();
    let mut found = Vec::new();
    for socket in sockets() {
        let process = HostProcess { socket };
        let Ok(names) = process.nodes() else { continue };
        if names.iter().any(|name| name == node) {
            found.push(process);
        }
        all.extend(names);
    }
    all.sort();
    (found, all)
}

fn named(node: &str, mut found: Vec<HostProcess>, all: Vec<String>) -> Result<HostProcess, CliError> {
    match (found.len(), found.pop()) {
        (1, Some(process)) => Ok(process),
        (0, _) if all.is_empty() => Err(CliError::failed(format!(
            "{node}: no node in WebAssembly of this user runs on this host. Try: runnel wasm run"
        ))),
        (0, _) => Err(CliError::failed(format!(
            "{node}: no such node in WebAssembly runs on this host, but {}",
            crate::output::listed(&all, 5)
        ))),
        (count, _) => Err(CliError::failed(format!("{node}: {count} processes host a node of this name"))),
    }
}

/// Decides where a node goes on of which a process of this user does not know it.
///
/// # Errors
/// If there is no such process.
pub fn resolve(node: &str, side: Side) -> Result<(), CliError> {
    let has_come = Request::HasCome { node: node.to_owned() };
    let is_there = |socket| matches!(HostProcess { socket }.ask(&has_come), Ok((Answer::HasCome(true), _)));
    if side == Side::Source && sockets().into_iter().any(is_there) {
        let why = "goes on here: the host that it has left is to learn that. Try there";
        return Err(CliError::failed(format!("{node} {why}: runnel migrate {node} --resolve target")));
    }
    let request = Request::Resolve { node: node.to_owned(), side };
    let is_resolved =
        |socket| matches!(HostProcess { socket }.ask(&request), Ok((Answer::Resolved(true), _)));
    if sockets().into_iter().any(is_resolved) {
        return Ok(());
    }
    Err(CliError::failed(format!("{node}: no process of this host is in doubt where it goes on")))
}

fn sockets() -> Vec<PathBuf> {
    let entries = folders().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .collect()
}

impl HostProcess {
    fn nodes(&self) -> io::Result<Vec<String>> {
        match self.ask(&Request::Nodes) {
            Ok((Answer::Nodes(names), _)) => Ok(names),
            Ok(_) => Err(ErrorKind::InvalidData.into()),
            Err(error) => {
                if error.kind() == ErrorKind::ConnectionRefused {
                    // Its process was killed.
                    _ = fs::remove_file(&self.socket);
                }
                Err(error)
            }
        }
    }

    /// Gives the content of a checkpoint of the node to `keep`. The node goes on, or ends with it unless `keep` fails.
    ///
    /// # Errors
    /// Why there is none, or that of `keep`.
    pub fn checkpoint<T>(
        &self,
        ends: bool,
        keep: impl FnOnce(&[u8]) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let failed = |error: io::Error| CliError::failed(format!("the process of the node: {error}"));
        let (answer, mut rest) = self.ask(&Request::Checkpoint { ends }).map_err(failed)?;
        let length = match answer {
            Answer::Checkpoint(length) => length,
            Answer::Refused(why) => return Err(CliError::failed(why)),
            _ => return Err(failed(ErrorKind::InvalidData.into())),
        };
        let mut content = Vec::new();
        rest.by_ref().take(length).read_to_end(&mut content).map_err(failed)?;
        if content.len() as u64 != length {
            return Err(failed(ErrorKind::UnexpectedEof.into()));
        }
        let kept = keep(&content)?;
        if ends {
            confirm_end(&mut rest).map_err(|error| {
                let why = "the checkpoint is written, and whether the node has ended is not known";
                CliError::failed(format!("{why}: {error}"))
            })?;
        }
        Ok(kept)
    }

    /// Moves the node to the host at this address.
    ///
    /// # Errors
    /// If the process does not answer.
    pub fn migrate(&self, to: &str) -> Result<MoveAnswer, CliError> {
        let failed = |error: io::Error| CliError::failed(format!("the process of the node: {error}"));
        match self.ask_for(&Request::Migrate { to: to.to_owned() }, MOVE_TIMEOUT).map_err(failed)?.0 {
            Answer::Moved(moved) => Ok(MoveAnswer::Moved(moved)),
            Answer::InDoubt(why) => Ok(MoveAnswer::InDoubt(why)),
            Answer::Refused(why) => Ok(MoveAnswer::Refused(why)),
            _ => Err(failed(ErrorKind::InvalidData.into())),
        }
    }

    fn ask(&self, request: &Request) -> io::Result<(Answer, BufReader<UnixStream>)> {
        self.ask_for(request, TIMEOUT)
    }

    fn ask_for(&self, request: &Request, timeout: Duration) -> io::Result<(Answer, BufReader<UnixStream>)> {
        let mut stream = connect(&self.socket)?;
        stream.set_read_timeout(Some(timeout))?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        reader.by_ref().take(LONGEST_HEAD).read_line(&mut head)?;
        Ok((serde_json::from_str(&head)?, reader))
    }
}

/// Lets the node end, and waits until it has.
fn confirm_end(stream: &mut BufReader<UnixStream>) -> io::Result<()> {
    stream.get_mut().write_all(KEPT.as_bytes())?;
    let mut line = String::new();
    stream.take(LONGEST_HEAD).read_line(&mut line)?;
    if line == ENDED { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}
