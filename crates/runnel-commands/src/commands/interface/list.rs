//! `runnel interface list`

use runnel::core::schema::Kind;
use serde_json::{Map, Value as Json};

use crate::error::CliError;
use crate::output::lines;
use crate::session::Session;

/// List the types that are known: built in, below --interfaces, and in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only those of this package
    package: Option<String>,

    /// Only messages
    #[arg(short = 'm', long)]
    only_msgs: bool,

    /// Only services
    #[arg(short = 's', long)]
    only_srvs: bool,

    /// Only actions
    #[arg(short = 'a', long)]
    only_actions: bool,
}

impl Args {
    /// The kinds that are wanted: all unless some are named.
    fn kinds(&self) -> Vec<Kind> {
        let wanted = [self.only_msgs, self.only_srvs, self.only_actions];
        let all = !wanted.contains(&true);
        Kind::ALL.into_iter().zip(wanted).filter(|(_, wanted)| all || *wanted).map(|(kind, _)| kind).collect()
    }
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let types = session.types()?;
    let names = |kind| {
        let of_package = types
            .names(kind)
            .into_iter()
            .filter(|name| args.package.as_ref().is_none_or(|package| name.package == *package));
        of_package.map(ToString::to_string).collect::<Vec<_>>()
    };
    let found: Vec<(Kind, Vec<String>)> = args.kinds().into_iter().map(|kind| (kind, names(kind))).collect();
    session.output.answer(|| text(&found), || json(&found))
}

/// Names alone if they are of one kind, and otherwise under headings.
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
