//! The side of the process that hosts the node.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use runnel_wasm::{Checkpoint, GuestControl, SuspendedGuest};

use super::{Answer, ENDED, KEPT, Request, folders};

/// How long a node may take until it can be suspended.
const SUSPEND_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a client may take for its request, and for reading the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait after a connection that could not be accepted.
const RETRY: Duration = Duration::from_millis(100);

/// Bytes of a request.
const LONGEST: u64 = 4096;

/// The socket of this process. It is removed when this is dropped, once the client of that time has its answer.
#[must_use]
pub struct ControlSocket {
    path: PathBuf,
    answering: Arc<Mutex<()>>,
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
        drop(self.answering.lock());
    }
}

/// Lets other processes control a node.
///
/// # Errors
/// If there is no place for the socket.
pub fn serve(control: &GuestControl) -> io::Result<ControlSocket> {
    let folder =
        folders().next().ok_or_else(|| io::Error::other("no folder that only this user can enter"))?;
    let name = format!("{}-{:x}", std::process::id(), runnel_io::clock::monotonic().0);
    let (path, unfinished) = (folder.join(format!("{name}.sock")), folder.join(name));
    let listener = UnixListener::bind(&unfinished)?;
    fs::set_permissions(&unfinished, Permissions::from_mode(0o600))?;
    // Clients remove sockets to which nobody listens: it has this name once it listens.
    fs::rename(&unfinished, &path)?;
    let (control, answering) = (control.clone(), Arc::new(Mutex::new(())));
    let served = ControlSocket { path, answering: Arc::clone(&answering) };
    thread::spawn(move || {
        // One at a time: a checkpoint of a node excludes others of it.
        loop {
            match listener.accept() {
                // A client that is gone needs no answer.
                Ok((client, _)) => _ = answering.lock().map(|_answering| answer(&control, client)),
                // Descriptors may come back.
                Err(_) => thread::sleep(RETRY),
            }
        }
    });
    Ok(served)
}

fn answer(control: &GuestControl, client: UnixStream) -> io::Result<()> {
    client.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    client.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new((&client).take(LONGEST)).read_line(&mut line)?;
    match serde_json::from_str(&line) {
        Ok(Request::Nodes) => reply(&client, &Answer::Nodes(control.node_names()), &[]),
        Ok(Request::Checkpoint { ends }) => match control.suspend(SUSPEND_TIMEOUT) {
            Ok(suspended) => send(control, client, suspended, ends),
            Err(error) => reply(&client, &Answer::Refused(error.to_string()), &[]),
        },
        Err(error) => reply(&client, &Answer::Refused(format!("the request is not valid: {error}")), &[]),
    }
}

/// Sends a checkpoint. A node that ends with it ends once the client has kept it.
fn send(control: &GuestControl, client: UnixStream, suspended: SuspendedGuest, ends: bool) -> io::Result<()> {
    let send = |checkpoint: &Checkpoint| {
        let bytes = checkpoint.to_bytes().map_err(io::Error::other)?;
        reply(&client, &Answer::Checkpoint(bytes.len() as u64), &bytes)
    };
    if !ends {
        return send(&suspended.go_on());
    }
    send(suspended.checkpoint())?;
    let mut kept = String::new();
    BufReader::new((&client).take(LONGEST)).read_line(&mut kept)?;
    if kept == KEPT {
        drop(suspended.end());
        let until = Instant::now() + CLIENT_TIMEOUT;
        while !control.has_ended() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        (&client).write_all(ENDED.as_bytes())?;
    }
    Ok(())
}

fn reply(mut client: &UnixStream, answer: &Answer, content: &[u8]) -> io::Result<()> {
    let mut head = serde_json::to_vec(answer)?;
    head.push(b'\n');
    client.write_all(&head)?;
    client.write_all(content)
}
