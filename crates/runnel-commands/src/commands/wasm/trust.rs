//! `runnel wasm trust`.

use runnel_wasm::migration::link::{Fingerprint, TrustedHost, TrustedHosts, default_folder};
use serde_json::json;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::columns;
use crate::similar;

/// Trust another host, so that nodes can move between that host and this one
///
/// Both hosts must trust each other. `runnel wasm certificate` prints the fingerprint of a host.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The fingerprint of the host's certificate: SHA256:..
    #[arg(required_unless_present_any = ["list", "remove"])]
    fingerprint: Option<String>,

    /// A name of the host, which messages show
    #[arg(long, requires = "fingerprint")]
    name: Option<String>,

    /// List the hosts that this host trusts
    #[arg(long, conflicts_with_all = ["fingerprint", "remove"])]
    list: bool,

    /// Stop trusting this host
    #[arg(long, value_name = "NAME|FINGERPRINT", conflicts_with = "fingerprint")]
    remove: Option<String>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let trusted = TrustedHosts::in_folder(&default_folder().map_err(CliError::failed)?);
    match (&args.fingerprint, &args.remove) {
        (Some(fingerprint), _) => add(&trusted, fingerprint, args.name.as_deref(), cli),
        (None, Some(host)) => remove(&trusted, host, cli),
        (None, None) => list(&trusted, cli),
    }
}

fn add(
    trusted: &TrustedHosts,
    fingerprint: &str,
    name: Option<&str>,
    cli: &CliContext,
) -> Result<(), CliError> {
    let fingerprint: Fingerprint =
        fingerprint.parse().map_err(|error| CliError::Usage(format!("{error}")))?;
    trusted.add(fingerprint, name).map_err(CliError::failed)?;
    let host = trusted.find(fingerprint).map_err(CliError::failed)?;
    host.map_or(Ok(()), |host| answer("trusted", &host, cli))
}

fn remove(trusted: &TrustedHosts, host: &str, cli: &CliContext) -> Result<(), CliError> {
    match trusted.remove(host).map_err(CliError::failed)? {
        Some(host) => answer("no longer trusted", &host, cli),
        None => {
            let hosts = trusted.list().map_err(CliError::failed)?;
            let names = hosts.iter().map(|host| host.name.as_str());
            let meant = similar::meant_or_listed(host, names, "runnel wasm trust --list");
            Err(CliError::failed(format!("{host}: this host trusts no such host{meant}")))
        }
    }
}

fn answer(what: &str, host: &TrustedHost, cli: &CliContext) -> Result<(), CliError> {
    let TrustedHost { fingerprint, name } = host;
    let fingerprint = fingerprint.to_string();
    cli.output.answer(
        || {
            if *name == fingerprint {
                format!("{what}: {name}")
            } else {
                format!("{what}: {name}, {fingerprint}")
            }
        },
        || json!({ "fingerprint": fingerprint, "name": name }),
    )
}

fn list(trusted: &TrustedHosts, cli: &CliContext) -> Result<(), CliError> {
    let hosts = trusted.list().map_err(CliError::failed)?;
    let hosts: Vec<_> = hosts.into_iter().map(|host| [host.fingerprint.to_string(), host.name]).collect();
    cli.output.answer(
        || columns(hosts.iter().map(|[fingerprint, name]| [name.clone(), fingerprint.clone()])),
        || {
            hosts
                .iter()
                .map(|[fingerprint, name]| json!({ "fingerprint": fingerprint, "name": name }))
                .collect()
        },
    )
}
