//! Masters: Runnel's, and the original.

use std::env;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::process::Process;
use super::room::{Place, Room};

/// How often a master that does not say when it listens is tried.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// The original master's program.
const ORIGINAL: &str = "rosmaster";

/// Whose master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `runnel master`, which gathers no logs.
    Runnel,
    /// `rosmaster --core`.
    Original,
}

impl Kind {
    /// Looks whether it is there to be started.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn check(self) -> Result<(), Failure> {
        let folders = env::var_os("PATH").unwrap_or_default();
        if self == Self::Runnel || env::split_paths(&folders).any(|folder| folder.join(ORIGINAL).is_file()) {
            return Ok(());
        }
        Err(Failure::Missing("rosmaster is not installed (Debian: apt-get install python3-rosmaster)".into()))
    }

    /// Starts one and gives its URI once it listens.
    ///
    /// # Errors
    /// When it does not until `deadline`.
    pub fn start(
        self,
        place: Place<'_>,
        deadline: Instant,
        room: &mut Room,
    ) -> Result<(Process, String), Failure> {
        match self {
            Self::Runnel => runnel(place, deadline, room),
            Self::Original => original(place, deadline, room),
        }
    }
}

fn runnel(place: Place<'_>, deadline: Instant, room: &mut Room) -> Result<(Process, String), Failure> {
    let command = [room.program(), "master", "--no-rosout", "--port", "0", "--host", "127.0.0.1", "--json"];
    let mut master = room.launch("master", &command.map(str::to_owned), place)?;
    let uri = master.line_after("{\"uri\":\"", deadline)?;
    Ok((master, uri.trim_end_matches("\"}").to_owned()))
}

fn original(place: Place<'_>, deadline: Instant, room: &mut Room) -> Result<(Process, String), Failure> {
    let port = free_port().map_err(Failure::missing("no port for rosmaster"))?;
    let command = [ORIGINAL, "--core", "-p", &port.to_string()];
    let mut master = room.launch(ORIGINAL, &command.map(str::to_owned), place)?;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if Instant::now() >= deadline {
            let what = format!("listening on port {port}");
            return Err(Failure::TooLate { who: ORIGINAL.into(), what });
        }
        master.watch(TRY_AGAIN)?;
    }
    Ok((master, format!("http://127.0.0.1:{port}/")))
}

/// A port that nobody listens on: the original announces a port only if it is given one.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
