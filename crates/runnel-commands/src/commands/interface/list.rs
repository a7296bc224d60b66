//! `runnel interface list`

use runnel::core::schema::Kind;
use serde_json::{Map, Value as Json};

use super::known::{Kinds, Only};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::output::lines;

/// List known types: built-in ones, and those below --interfaces, ROS_PACKAGE_PATH and AMENT_PREFIX_PATH
///
/// ROS 2 types are spelt as in ROS 2, std_msgs/msg/String. Types of ROS 1 only are spelt as in ROS 1, roscpp/Logger.
/// With --ros1 all ROS 1 types are, std_msgs/String.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only types of this package
    #[arg(add = completion::packages())]
    package: Option<String>,

    #[command(flatten)]
    kinds: Kinds,

    #[command(flatten)]
    only: Only,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let types = cli.types()?;
    let package = args.package.as_ref();
    package.map_or(Ok(()), |package| args.only.check(&types, package))?;
    let names = |kind| {
        let names = args.only.names(&types, kind).into_iter();
        let wanted = names.filter(|(name, _)| package.is_none_or(|package| name.package == *package));
        wanted.map(|(_, name)| name).collect::<Vec<_>>()
    };
    let found: Vec<(Kind, Vec<String>)> =
        args.kinds.wanted().into_iter().map(|kind| (kind, names(kind))).collect();
    cli.output.answer(|| text(&found), || json(&found))
}

/// Names without heading if they are of one kind, else with headings.
fn text(found: &[(Kind, Vec<String>)]) -> String {
    match found {
        [(_, names)] => lines(names),
        several => several.iter().filter(|(_, names)| !names.is_empty()).map(section).collect(),
    }
}

fn section((kind, names): &(Kind, Vec<String>)) -> String {
    format!("{}:\n{}", heading(*kind), lines(names.iter().map(|name| format!("  {name}"))))
}

fn heading(kind: Kind) -> &'static str {
    match kind {
        Kind::Message => "Messages",
        Kind::Service => "Services",
        Kind::Action => "Actions",
    }
}

fn json(found: &[(Kind, Vec<String>)]) -> Json {
    let lists = found.iter().map(|(kind, names)| (heading(*kind).to_lowercase(), Json::from(names.clone())));
    Json::Object(lists.collect::<Map<_, _>>())
}
