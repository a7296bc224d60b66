//! `runnel migrate`.

use std::time::Duration;

use serde_json::json;

use super::wasm::PORT;
use super::wasm::control::{self, Moved, Side};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Move a running node in WebAssembly to another host, where it goes on
///
/// The other host runs `runnel wasm serve`. The node runs on this host, started by this user. Its topics, services and
/// parameters go with it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node, such as /tracer
    node: String,

    /// The host to which it moves [default port: 7411]
    #[arg(long, value_name = "HOST[:PORT]", required_unless_present = "resolve")]
    to: Option<String>,

    /// Decide where the node goes on, if its hosts cannot reach each other and do not know: first at the target, then at
    /// the source
    #[arg(long, value_name = "SIDE", conflicts_with = "to")]
    resolve: Option<Side>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let node = cli.resolve(&args.node)?;
    match (&args.to, args.resolve) {
        (Some(to), _) => {
            let moved = move_node(&node, to)?;
            let Moved { copied, copied_suspended, suspended } = moved;
            let pause = Duration::from_micros(suspended);
            cli.output.answer(
                || format!("{node} goes on at {to}: it was suspended for {pause:.1?}"),
                || {
                    json!({
                        "node": node, "to": to, "suspended_us": suspended,
                        "bytes_copied": copied, "bytes_copied_suspended": copied_suspended,
                    })
                },
            )
        }
        (None, Some(side)) => control::resolve(&node, side),
        (None, None) => Err(CliError::Usage("where to? Try: --to HOST".to_owned())),
    }
}

/// Moves a node that runs on this host to another one.
///
/// # Errors
/// Why it goes on here, or why that is not known.
pub fn move_node(node: &str, to: &str) -> Result<Moved, CliError> {
    control::find(node)?.migrate(node, &with_port(to))
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
