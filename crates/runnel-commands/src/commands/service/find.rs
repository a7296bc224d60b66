//! `runnel service find`

use runnel::core::schema::TypeName;
use serde_json::json;

use super::hidden::Hidden;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Query;
use crate::output::lines;
use crate::services::Prober;
use crate::types::type_name;

/// List the services of a type
///
/// Exit code: 1 if neither a master nor a ROS 2 participant is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service type, such as std_srvs/SetBool or std_srvs/srv/SetBool
    #[arg(value_name = "TYPE", add = completion::service_types())]
    type_name: String,

    /// Only print how many there are
    #[arg(short, long)]
    count_services: bool,

    #[command(flatten)]
    hidden: Hidden,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let wanted = type_name(&args.type_name)?;
    let snapshot = args.query.open(cli)?;
    let prober = Prober::new(cli);
    let mut found = Vec::new();
    for (name, service) in args.hidden.services(&snapshot)?.0 {
        match prober.types(&name, &service) {
            Ok(types) if types.iter().any(|known| TypeName::parse(known).as_ref() == Some(&wanted)) => {
                found.push(name);
            }
            Ok(_) => {}
            Err(error) => log::warn!("{error}"),
        }
    }
    if args.count_services {
        cli.output.answer(|| found.len().to_string(), || json!(found.len()))?;
    } else {
        cli.output.answer(|| lines(&found), || found.iter().map(String::as_str).collect())?;
    }
    snapshot.presence.check()
}
