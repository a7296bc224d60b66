//! The side of the process that hosts the node.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use runnel_wasm::{Checkpoint, GuestControl, SuspendedGuest};

use super::timed_stream::TimedStream;
use super::{Answer, ENDED, Hosted, KEPT, Request, folders};

/// How long a node may take until it can be suspended.
const SUSPEND_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a client may take for its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client may take for reading an answer and, of a node that ends with its checkpoint, until it has kept it: the
/// node is suspended meanwhile.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a node may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait after a connection that could not be accepted.
const RETRY: Duration = Duration::from_millis(100);

/// Bytes of a request.
const LONGEST: u64 = 4096;

/// The socket of this process. It is removed when this is dropped, once the client of that time has its answer.
#[must_use]
pub struct ControlSocket {
    path: PathBuf,
    answering: Arc<Mutex<()>>,
    is_ended: Arc<AtomicBool>,
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::SeqCst);
        // The thread that accepts clients sees it then.
        drop(UnixStream::connect(&self.path));
        _ = fs::remove_file(&self.path);
        drop(self.answering.lock());
    }
}

/// Clients at a time, at most.
const MOST_CLIENTS: usize = 16;

/// Lets other processes control a node.
///
/// # Errors
/// If there is no place for the socket.
pub fn serve(hosted: Hosted) -> io::Result<ControlSocket> {
    let folder =
        folders().next().ok_or_else(|| io::Error::other("no folder that only this user can enter"))?;
    let name = format!("{}-{:x}", std::process::id(), runnel_io::clock::monotonic().0);
    let (path, unfinished) = (folder.join(format!("{name}.sock")), folder.join(name));
    let listener = UnixListener::bind(&unfinished)?;
    fs::set_permissions(&unfinished, Permissions::from_mode(0o600))?;
    // Clients remove sockets to which nobody listens: it has this name once it listens.
    fs::rename(&unfinished, &path)?;
    let answering = Arc::new(Mutex::new(()));
    let is_ended = Arc::<AtomicBool>::default();
    let served = ControlSocket { path, answering: Arc::clone(&answering), is_ended: Arc::clone(&is_ended) };
    thread::spawn(move || {
        let clients = Arc::new(());
        while !is_ended.load(Ordering::SeqCst) {
            match listener.accept() {
                Ok(_) if is_ended.load(Ordering::SeqCst) => {}
                Ok((client, _)) if Arc::strong_count(&clients) <= MOST_CLIENTS => {
                    let (hosted, answering) = (hosted.clone(), Arc::clone(&answering));
                    let count = Arc::clone(&clients);
                    thread::spawn(move || {
                        // A client that is gone needs no answer.
                        let _ = answer(&hosted, &answering, &client);
                        drop(count);
                    });
                }
                Ok(_) => {}
                // Descriptors may come back.
                Err(_) => thread::sleep(RETRY),
            }
        }
    });
    Ok(served)
}

/// Answers a client. Checkpoints and moves exclude each other.
fn answer(hosted: &Hosted, answering: &Mutex<()>, client: &UnixStream) -> io::Result<()> {
    let Hosted { control, .. } = hosted;
    let line = read_line(&mut TimedStream::new(client, REQUEST_TIMEOUT))?;
    let reply = |answer: &Answer| reply(&mut TimedStream::new(client, ANSWER_TIMEOUT), answer, &[]);
    let alone = || answering.lock().unwrap_or_else(PoisonError::into_inner);
    match serde_json::from_str(&line) {
        Ok(Request::Nodes) => reply(&Answer::Nodes(control.node_names())),
        Ok(Request::Checkpoint { ends }) => {
            let _alone = alone();
            match control.suspend(SUSPEND_TIMEOUT) {
                Ok(suspended) => send(control, client, suspended, ends),
                Err(error) => reply(&Answer::Refused(error.to_string())),
            }
        }
        Ok(Request::Migrate { to }) => {
            let _alone = alone();
            // A client that is gone does not end the move.
            let moved = hosted.migrate(&to, |why| _ = reply(&Answer::InDoubt(why.to_owned())));
            reply(&moved.map_or_else(|error| Answer::Refused(error.to_string()), Answer::Moved))
        }
        Ok(Request::HasCome { node }) => reply(&Answer::HasCome(hosted.has_come(&node))),
        Ok(Request::Resolve { node, side }) => reply(&Answer::Resolved(hosted.resolve(&node, side))),
        Err(error) => reply(&Answer::Refused(format!("the request is not valid: {error}"))),
    }
}

/// Sends a checkpoint. A node that ends with it ends once the client has kept it. One that does not goes on at once.
fn send(
    control: &GuestControl,
    client: &UnixStream,
    suspended: SuspendedGuest,
    ends: bool,
) -> io::Result<()> {
    let mut stream = TimedStream::new(client, ANSWER_TIMEOUT);
    let bytes = |checkpoint: &Checkpoint| checkpoint.to_bytes().map_err(io::Error::other);
    if !ends {
        return send_content(&mut stream, &bytes(&suspended.go_on())?);
    }
    if is_kept(&mut stream, &bytes(suspended.checkpoint())?)? {
        drop(suspended.end());
        let until = Instant::now() + END_TIMEOUT;
        while !control.has_ended() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        TimedStream::new(client, ANSWER_TIMEOUT).write_all(ENDED.as_bytes())?;
    }
    Ok(())
}

/// Sends a checkpoint, and waits until the client says that it has kept it.
fn is_kept(stream: &mut TimedStream<'_>, checkpoint: &[u8]) -> io::Result<bool> {
    send_content(stream, checkpoint)?;
    Ok(read_line(stream)? == KEPT)
}

fn send_content(stream: &mut TimedStream<'_>, checkpoint: &[u8]) -> io::Result<()> {
    reply(stream, &Answer::Checkpoint(checkpoint.len() as u64), checkpoint)
}

fn reply(stream: &mut TimedStream<'_>, answer: &Answer, content: &[u8]) -> io::Result<()> {
    let mut head = serde_json::to_vec(answer)?;
    head.push(b'\n');
    stream.write_all(&head)?;
    stream.write_all(content)
}

fn read_line(stream: &mut TimedStream<'_>) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(200);

    /// That of clients which are in time.
    const LONG: Duration = Duration::from_secs(60);

    /// Longer than the buffers of a connection.
    static CHECKPOINT: [u8; 10_000_000] = [0; 10_000_000];

    /// Sends a checkpoint to a client, which gets its end of the connection, and a channel that is closed afterwards.
    fn sent(
        client: impl FnOnce(UnixStream, Receiver<()>) + Send + 'static,
        checkpoint: &[u8],
        timeout: Duration,
    ) -> io::Result<bool> {
        let (server, end) = UnixStream::pair().unwrap();
        let (release, released) = channel();
        let (client, began) = (thread::spawn(|| client(end, released)), Instant::now());
        let kept = is_kept(&mut TimedStream::new(&server, timeout), checkpoint);
        assert!(began.elapsed() < timeout * 10, "{:?}", began.elapsed());
        drop((server, release));
        client.join().unwrap();
        kept
    }

    fn assert_timed_out(kept: io::Result<bool>) {
        assert_eq!(kept.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn client_that_does_not_read_holds_a_node_for_a_limited_time() {
        let idle = |_end: UnixStream, released: Receiver<()>| _ = released.recv();
        assert_timed_out(sent(idle, &CHECKPOINT, TIMEOUT));
        assert_timed_out(sent(idle, b"it is in the buffer of the connection", TIMEOUT));
    }

    #[test]
    fn client_that_reads_slowly_holds_a_node_for_a_limited_time() {
        // The connection waits for less than the timeout for each piece.
        let slow = |mut end: UnixStream, _: Receiver<()>| {
            let mut piece = [0; 100_000];
            while end.read(&mut piece).is_ok_and(|length| length > 0) {
                thread::sleep(TIMEOUT / 4);
            }
        };
        assert_timed_out(sent(slow, &CHECKPOINT, TIMEOUT));
    }

    #[test]
    fn node_ends_only_when_the_client_says_that_it_has_kept_it() {
        let answering = |answer: &'static str| {
            move |mut end: UnixStream, _: Receiver<()>| {
                let mut received = vec![0; CHECKPOINT.len()];
                end.read_exact(&mut received).unwrap();
                end.write_all(answer.as_bytes()).unwrap();
                end.shutdown(std::net::Shutdown::Write).unwrap();
                _ = io::copy(&mut end, &mut io::sink());
            }
        };
        assert!(sent(answering(KEPT), &CHECKPOINT, LONG).unwrap());
        assert!(!sent(answering("no\n"), &CHECKPOINT, LONG).unwrap());
        assert!(!sent(answering(""), &CHECKPOINT, LONG).unwrap());
    }
}
