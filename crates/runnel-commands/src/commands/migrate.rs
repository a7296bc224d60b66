//! `runnel migrate`.

use runnel_wasm::migration::{Migrated, MoveAnswer, request_move};
use serde_json::json;

use super::wasm::PORT;
use super::wasm::control::{self, Side};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Move a running node in WebAssembly to another host, where it goes on
///
/// The other host runs `runnel wasm serve`. The node runs on this host, started by this user, or on one that runs
/// `runnel wasm serve`, too. Its topics, services and parameters go with it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node, such as /tracer
    node: String,

    /// The host to which it moves [default port: 7411]
    #[arg(long, value_name = "HOST[:PORT]", required_unless_present = "resolve")]
    to: Option<String>,

    /// The host where it runs, if not this one
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with = "resolve")]
    from: Option<String>,

    /// Decide where the node goes on, if its hosts cannot reach each other and do not know: first at the target, then at
    /// the source
    #[arg(long, value_name = "SIDE", conflicts_with = "to")]
    resolve: Option<Side>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let node = cli.resolve(&args.node)?;
    match (&args.to, args.resolve) {
        (Some(to), _) => {
            let moved = match &args.from {
                Some(from) => migrate_from(from, &node, to)?,
                None => migrate_from_here(&node, to)?,
            };
            let Migrated { copied, copied_suspended, state, suspended } = moved;
            cli.output.answer(
                || format!("{node} goes on at {to}: it was suspended for {suspended:.1?}"),
                || {
                    json!({
                        "node": node, "to": to, "suspended_us": suspended.as_micros() as u64,
                        "bytes_copied": copied, "bytes_copied_suspended": copied_suspended + state,
                    })
                },
            )
        }
        (None, Some(side)) => {
            control::resolve(&node, side)?;
            let (text, side) = match side {
                Side::Source => ("where it was", "source"),
                Side::Target => ("where it was to go", "target"),
            };
            cli.output.answer(|| format!("{node} goes on {text}"), || json!({ "node": node, "at": side }))
        }
        (None, None) => Err(CliError::Usage("where to? Try: --to HOST".to_owned())),
    }
}

/// Moves a node that runs on this host to another one.
fn migrate_from_here(node: &str, to: &str) -> Result<Migrated, CliError> {
    moved(control::find(node)?.migrate(&with_port(to))?, node, ("here", to))
}

/// Moves a node that runs on another host.
fn migrate_from(from: &str, node: &str, to: &str) -> Result<Migrated, CliError> {
    moved(ask(from, node, Some(to))?, node, (&format!("at {from}"), to))
}

/// Asks a host to move a node, or whether it has it.
fn ask(host: &str, node: &str, to: Option<&str>) -> Result<MoveAnswer, CliError> {
    let channel = control::connect(&with_port(host)).map_err(CliError::failed)?;
    let answer = request_move(&channel, node, to.map(with_port).as_deref());
    answer.map_err(|why| CliError::failed(format!("{host}: {why}")))
}

fn moved(answer: MoveAnswer, node: &str, (here, to): (&str, &str)) -> Result<Migrated, CliError> {
    match answer {
        MoveAnswer::Moved(moved) => Ok(moved),
        MoveAnswer::Here | MoveAnswer::NotHere => {
            Err(CliError::failed(format!("{node}: no node of this name is {here}")))
        }
        MoveAnswer::Refused(why) => Err(CliError::failed(format!("{node} goes on {here}: {why}"))),
        MoveAnswer::InDoubt(why) => Err(CliError::failed(format!(
            "it is not known whether {node} goes on {here} or at {to}: {why}. Both hosts hold it until they reach each other. \
             To decide, type at {to} first: runnel migrate {node} --resolve source. If it is accepted, type the same for the \
             one {here}; if the node goes on at {to}, type --resolve target for the one {here}"
        ))),
    }
}

/// Moves a node to a host from wherever it is: on this host, or on one of the others. One that is there already stays.
///
/// # Errors
/// Why it goes on where it is, or that it is nowhere.
pub fn move_node(node: &str, to: &str, others: &[String]) -> Result<(), CliError> {
    if ask(to, node, None)? == MoveAnswer::Here {
        return Ok(());
    }
    if control::is_here(node) {
        return migrate_from_here(node, to).map(|_| ());
    }
    let mut unreachable = Vec::new();
    for from in others.iter().filter(|host| with_port(host) != with_port(to)) {
        match ask(from, node, Some(to)) {
            Ok(MoveAnswer::NotHere) => {}
            Err(error) => unreachable.push(error.to_string()),
            Ok(answer) => return moved(answer, node, (&format!("at {from}"), to)).map(|_| ()),
        }
    }
    let why = format!("{node}: it is neither on this host nor on one of those of the rules");
    Err(CliError::failed([vec![why], unreachable].concat().join("; ")))
}

/// The address with the default port if it has none.
fn with_port(to: &str) -> String {
    let has_port = match to.rsplit_once(':') {
        // An IPv6 address without a port has colons, too.
        Some((host, port)) => port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']')),
        None => false,
    };
    match has_port {
        true => to.to_owned(),
        false if to.contains(':') && !to.starts_with('[') => format!("[{to}]:{PORT}"),
        false => format!("{to}:{PORT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_port_is_added() {
        let cases = [
            ("robot", "robot:7411"),
            ("robot:80", "robot:80"),
            ("10.0.0.1", "10.0.0.1:7411"),
            ("::1", "[::1]:7411"),
            ("[::1]", "[::1]:7411"),
            ("[::1]:80", "[::1]:80"),
        ];
        for (given, address) in cases {
            assert_eq!(with_port(given), address);
        }
    }
}
