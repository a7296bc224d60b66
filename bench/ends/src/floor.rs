//! Endpoints that use only the operating system: the bench's floor.

use std::io;

use runnel_floor::{
    Chain, Connections, PacketKind, Packets, Stamps, Streams, Transport, Trial, Waiting, Words,
};

use crate::protocol::{send_line, send_ready, wait_for_go};
use crate::{EndArgs, Failure, Role, failed};

/// An end on byte streams.
pub(super) fn streams<S: Transport>(args: &EndArgs, connections: Connections) -> Result<(), Failure> {
    let connections = args.topics.map_or(connections, Connections::Topics);
    let course = args.course();
    match args.role {
        Role::Ping => {
            let mut near = near::<S>(args, connections)?;
            let both = match args.rate {
                Some(_) => near.flow(&course, args.watermark)?,
                None => near.ping(args.trial())?,
            };
            args.write_both(&both)
        }
        Role::Source if args.topics.is_some() => {
            args.write_sent(&near::<S>(args, connections)?.only_first().source(&course)?)
        }
        Role::Source | Role::Talker => args.write_sent(&near::<S>(args, connections)?.source(&course)?),
        Role::ParaIn => args.write_sent(&Chain(near::<S>(args, connections)?).begin(&course)?),
        Role::Pong => args.write_received(&far::<S>(connections)?.pong(&course)?),
        Role::Sink | Role::Listener => args.write_received(&far::<S>(connections)?.sink(&course)?),
        Role::Add => args.write_received(&Chain(far::<S>(connections)?).end(&course)?),
        Role::ParaAdd => {
            let mut next = Chain(Streams::<S>::connect(&args.peer, connections)?);
            Ok(Chain(far::<S>(connections)?).add(&mut next, &course)?)
        }
        _ => Err(only_messages()),
    }
}

/// The end that connects, and starts on the bench's signal.
fn near<S: Transport>(args: &EndArgs, connections: Connections) -> Result<Streams<S>, Failure> {
    let near = Streams::connect(&args.peer, connections)?;
    send_ready()?;
    wait_for_go()?;
    Ok(near)
}

/// The end that listens.
fn far<S: Transport>(connections: Connections) -> Result<Streams<S>, Failure> {
    let (listener, address) = S::listen()?;
    send_line(format_args!("at {address}"))?;
    let far = Streams::accept(&listener, connections)?;
    send_ready()?;
    Ok(far)
}

/// An end on sockets that preserve message boundaries.
pub(super) fn packets(args: &EndArgs, kind: PacketKind) -> Result<(), Failure> {
    match args.role {
        // A call is a message and its answer.
        Role::Ping | Role::CallPersistent => ping(args, Packets::connect(kind, peer(args)?)?, Packets::ping),
        Role::Pong | Role::Serve => {
            let (waiting, address) = Packets::listen(kind)?;
            send_line(format_args!("at {address}"))?;
            let far = waiting.accept(kind)?;
            send_ready()?;
            args.write_received(&far.pong(args.trial())?)
        }
        _ => Err(only_messages()),
    }
}

/// An end on words of shared memory.
pub(super) fn words(args: &EndArgs, waiting: Waiting) -> Result<(), Failure> {
    match args.role {
        Role::Ping => ping(args, Words::connect(waiting, peer(args)?)?, Words::ping),
        Role::Pong => {
            let (far, address) = Words::listen(waiting)?;
            send_line(format_args!("at {address}"))?;
            // The futex wait sees what the other end has written earlier.
            send_ready()?;
            args.write_received(&far.pong(args.trial())?)
        }
        _ => Err(only_messages()),
    }
}

/// Starts on the bench's signal, and sends each message when the previous one has come back.
fn ping<E>(
    args: &EndArgs,
    near: E,
    ping: impl FnOnce(&E, Trial) -> io::Result<(Stamps, Stamps)>,
) -> Result<(), Failure> {
    send_ready()?;
    wait_for_go()?;
    args.write_both(&ping(&near, args.trial())?)
}

fn peer(args: &EndArgs) -> Result<&str, Failure> {
    args.peer.first().map(String::as_str).ok_or_else(|| failed("--peer is missing"))
}

fn only_messages() -> Failure {
    failed("this role needs a Runnel node: the floor has only messages")
}
