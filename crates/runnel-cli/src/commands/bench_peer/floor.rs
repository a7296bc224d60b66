//! Ends on plain TCP: the floor.

use std::net::{Ipv4Addr, TcpListener};

use runnel_floor::{Connections, Tcp};

use super::talk::{say, say_ready, wait_for_go};
use super::{EndArgs, Role};
use crate::error::CliError;

pub(super) fn run(args: &EndArgs, connections: Connections) -> Result<(), CliError> {
    match args.role {
        Role::Ping => {
            let (sent, received) = near(args, connections)?.ping(args.trial())?;
            args.write_sent(&sent)?;
            args.write_received(&received)
        }
        Role::Source => args.write_sent(&near(args, connections)?.source(args.trial())?),
        Role::Pong => args.write_received(&far(connections)?.pong(args.trial())?),
        Role::Sink => args.write_received(&far(connections)?.sink(args.trial())?),
        _ => Err(CliError::failed("TCP only carries messages")),
    }
}

/// The end that connects, and begins when it is told to.
fn near(args: &EndArgs, connections: Connections) -> Result<Tcp, CliError> {
    let peer = args.peer.ok_or_else(|| CliError::Usage("--peer is missing".into()))?;
    let near = Tcp::connect(peer, connections)?;
    say_ready()?;
    wait_for_go()?;
    Ok(near)
}

/// The end that listens.
fn far(connections: Connections) -> Result<Tcp, CliError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    say(format_args!("at {}", listener.local_addr()?))?;
    let far = Tcp::accept(&listener, connections)?;
    say_ready()?;
    Ok(far)
}
