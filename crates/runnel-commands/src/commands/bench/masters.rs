//! Masters: Runnel's, and the original.

use std::env;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::process::Process;
use super::workspace::{Place, Workspace};

/// Period of connection attempts to a master that does not print when it listens.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// The original master's program.
const ORIGINAL: &str = "rosmaster";

/// Which master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `runnel master`, which collects no logs.
    Runnel,
    /// `rosmaster --core`.
    Original,
}

impl Kind {
    /// Checks that the master can be started.
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

    /// Starts a master and returns its URI once it listens.
    ///
    /// # Errors
    /// When it does not listen before `deadline`.
    pub fn start(
        self,
        place: Place<'_>,
        deadline: Instant,
        workspace: &mut Workspace,
    ) -> Result<(Process, String), Failure> {
        match self {
            Self::Runnel => runnel(place, deadline, workspace),
            Self::Original => original(place, deadline, workspace),
        }
    }
}

fn runnel(
    place: Place<'_>,
    deadline: Instant,
    workspace: &mut Workspace,
) -> Result<(Process, String), Failure> {
    let command =
        [workspace.program(), "master", "--no-rosout", "--port", "0", "--host", "127.0.0.1", "--json"];
    let mut master = workspace.launch("master", &command.map(str::to_owned), place)?;
    let uri = master.line_after("{\"uri\":\"", deadline)?;
    Ok((master, uri.trim_end_matches("\"}").to_owned()))
}

fn original(
    place: Place<'_>,
    deadline: Instant,
    workspace: &mut Workspace,
) -> Result<(Process, String), Failure> {
    let port = free_port().map_err(Failure::missing("no free port for rosmaster"))?;
    let command = [ORIGINAL, "--core", "-p", &port.to_string()];
    let mut master = workspace.launch(ORIGINAL, &command.map(str::to_owned), place)?;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if Instant::now() >= deadline {
            let what = format!("listening on port {port}");
            return Err(Failure::TooLate { program: ORIGINAL.into(), what });
        }
        master.watch(TRY_AGAIN)?;
    }
    Ok((master, format!("http://127.0.0.1:{port}/")))
}

/// A free port: rosmaster announces its port only if it is given one.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
