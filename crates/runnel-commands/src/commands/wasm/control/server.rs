//! The side of the process that hosts the node.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use runnel_wasm::{Checkpoint, GuestControl, SuspendedGuest};

use super::{Answer, KEPT, Request, folder};

/// How long a node may take until it can be suspended.
const SUSPENDING: Duration = Duration::from_secs(20);

/// How long a client may take for its request, and for reading the answer.
const CLIENT: Duration = Duration::from_secs(10);

/// Bytes of a request.
const LONGEST: u64 = 4096;

/// The socket of this process. It is removed when this is dropped.
#[must_use]
pub struct Served(PathBuf);

impl Drop for Served {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// Lets other processes control a node. `None` if there is no place for the socket.
pub fn serve(control: &GuestControl) -> Option<Served> {
    let path = folder()?.join(format!("{}.sock", std::process::id()));
    // Of an earlier process with this number.
    _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).ok()?;
    let control = control.clone();
    thread::spawn(move || {
        // One at a time: a checkpoint of a node excludes others of it.
        for client in listener.incoming().flatten() {
            // A client that is gone needs no answer.
            _ = answer(&control, client);
        }
    });
    Some(Served(path))
}

fn answer(control: &GuestControl, client: UnixStream) -> io::Result<()> {
    client.set_read_timeout(Some(CLIENT))?;
    client.set_write_timeout(Some(CLIENT))?;
    let mut line = String::new();
    BufReader::new((&client).take(LONGEST)).read_line(&mut line)?;
    match serde_json::from_str(&line) {
        Ok(Request::Nodes) => reply(&client, &Answer::Nodes(control.node_names()), &[]),
        Ok(Request::Checkpoint { ends }) => match control.suspend(SUSPENDING) {
            Ok(suspended) => send(client, suspended, ends),
            Err(error) => reply(&client, &Answer::Refused(error.to_string()), &[]),
        },
        Err(error) => reply(&client, &Answer::Refused(format!("the request is not valid: {error}")), &[]),
    }
}

/// Sends a checkpoint. A node that ends with it ends once the client has kept it.
fn send(client: UnixStream, suspended: SuspendedGuest, ends: bool) -> io::Result<()> {
    let send = |checkpoint: &Checkpoint| {
        let bytes = checkpoint.to_bytes();
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
    }
    Ok(())
}

fn reply(mut client: &UnixStream, answer: &Answer, content: &[u8]) -> io::Result<()> {
    let mut head = serde_json::to_vec(answer)?;
    head.push(b'\n');
    client.write_all(&head)?;
    client.write_all(content)
}
