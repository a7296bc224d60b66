//! `ros2 interface`

use clap::Subcommand;
use runnel::core::schema::{Generation, Kind, TypeName};

use super::Failure;
use crate::cli_context::CliContext;
use crate::commands::interface::Kinds;
use crate::completion;
use crate::error::CliError;
use crate::interfaces::{Comments, Found, prototype, with_nested};
use crate::output::lines;
use crate::types::{Types, spelt};

/// Inspect message, service and action types
#[derive(Debug, Subcommand)]
pub enum Command {
    List(ListArgs),
    Package(PackageArgs),
    Packages(PackagesArgs),
    Show(ShowArgs),
    Proto(ProtoArgs),
}

/// List known types: built-in ones, and those below AMENT_PREFIX_PATH
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    kinds: Kinds,
}

/// List the types of a package
#[derive(Debug, clap::Args)]
pub struct PackageArgs {
    /// The package
    #[arg(add = completion::packages())]
    package: String,

    #[command(flatten)]
    kinds: Kinds,
}

/// List the packages that have types
#[derive(Debug, clap::Args)]
pub struct PackagesArgs {
    #[command(flatten)]
    kinds: Kinds,
}

/// Print the definition of a type, with those of nested messages indented
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The type, such as std_msgs/msg/String; - for a line of standard input
    #[arg(value_name = "TYPE", add = completion::all_types())]
    type_name: String,

    /// Print all comments, also of nested messages
    #[arg(long, conflicts_with = "no_comments")]
    all_comments: bool,

    /// Print no comments and no empty lines
    #[arg(long)]
    no_comments: bool,
}

/// Print a message, request or goal with default values
#[derive(Debug, clap::Args)]
pub struct ProtoArgs {
    /// The type, such as std_msgs/msg/String
    #[arg(value_name = "TYPE", add = completion::all_types())]
    type_name: String,

    /// Print no quotes around it
    #[arg(long)]
    no_quotes: bool,
}

pub fn run(command: &Command, cli: &CliContext) -> Result<(), Failure> {
    let types = cli.types()?;
    let text = match command {
        Command::List(args) => args.kinds.wanted().into_iter().map(|kind| section(&types, kind)).collect(),
        Command::Package(args) => package(&types, args)?,
        Command::Packages(args) => packages(&types, args),
        Command::Show(args) => show(&types, args)?,
        Command::Proto(args) => proto(&types, args)?,
    };
    Ok(cli.output.text(&text)?)
}

fn section(types: &Types, kind: Kind) -> String {
    let heading = match kind {
        Kind::Message => "Messages",
        Kind::Service => "Services",
        Kind::Action => "Actions",
    };
    let names = names(types, kind);
    format!("{heading}:\n{}", lines(names.iter().map(|name| format!("    {}", spelling(kind, name)))))
}

/// The ROS 2 types of a kind, in order.
fn names(types: &Types, kind: Kind) -> Vec<&TypeName> {
    let mut names: Vec<&TypeName> = types.names_in(Generation::Ros2, kind).collect();
    names.sort();
    names.dedup();
    names
}

fn spelling(kind: Kind, name: &TypeName) -> String {
    spelt(Generation::Ros2, kind, name)
}

fn package(types: &Types, args: &PackageArgs) -> Result<String, Failure> {
    let of_kind = |kind: Kind| {
        let names = names(types, kind).into_iter().filter(|name| name.package == args.package);
        names.map(move |name| spelling(kind, name)).collect::<Vec<_>>()
    };
    if Kind::ALL.into_iter().all(|kind| of_kind(kind).is_empty()) {
        return Err(Failure::failed(format!("Unknown package '{}'", args.package)));
    }
    Ok(lines(args.kinds.wanted().into_iter().flat_map(of_kind)))
}

fn packages(types: &Types, args: &PackagesArgs) -> String {
    let kinds = args.kinds.wanted();
    let mut found: Vec<&str> =
        kinds.into_iter().flat_map(|kind| names(types, kind)).map(|name| name.package.as_str()).collect();
    found.sort_unstable();
    found.dedup();
    lines(found)
}

/// The type of a name in three parts.
fn found(types: &Types, name: &str) -> Result<Found, Failure> {
    if name.split('/').count() != 3 {
        let expected = "Expected three parts separated by '/'";
        return Err(Failure::failed(format!("Invalid name '{name}'. {expected}")));
    }
    let all = Found::all(types, name, Some(Generation::Ros2))?;
    all.into_iter().next().ok_or_else(|| Failure::failed(format!("Could not find the interface '{name}'")))
}

fn show(types: &Types, args: &ShowArgs) -> Result<String, Failure> {
    let mut typed = args.type_name.clone();
    if typed == "-" {
        typed.clear();
        std::io::stdin().read_line(&mut typed).map_err(CliError::failed)?;
    }
    if typed.trim().is_empty() {
        return Err(Failure::usage("the passed value is empty"));
    }
    let comments = match args {
        ShowArgs { all_comments: true, .. } => Comments::All,
        ShowArgs { no_comments: true, .. } => Comments::None,
        _ => Comments::Outermost,
    };
    Ok(with_nested(&found(types, typed.trim())?, comments))
}

fn proto(types: &Types, args: &ProtoArgs) -> Result<String, Failure> {
    let text = prototype(&found(types, &args.type_name)?)?;
    Ok(if args.no_quotes { format!("{text}\n") } else { format!("\"{text}\"\n") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, comments: Comments) -> String {
        let types = Types::new(&[]).expect("no folder to read");
        with_nested(&found(&types, name).expect("known"), comments)
    }

    #[test]
    fn nested_definitions_are_indented_by_tabs() {
        let text = shown("geometry_msgs/msg/TwistStamped", Comments::None);
        let expected = "std_msgs/Header header\n\tbuiltin_interfaces/Time stamp\n\t\tint32 sec\n\t\tuint32 nanosec\n\
                        \tstring frame_id\nTwist twist\n\tVector3  linear\n\t\tfloat64 x\n\t\tfloat64 y\n\t\tfloat64 z\n\
                        \tVector3  angular\n\t\tfloat64 x\n\t\tfloat64 y\n\t\tfloat64 z\n";
        let words =
            |text: &str| text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let without_packages = |text: &str| words(&text.replace("geometry_msgs/", ""));
        assert_eq!(without_packages(&text), without_packages(expected));
        assert_eq!(
            shown("std_srvs/srv/SetBool", Comments::None),
            "bool data\n---\nbool success\nstring message\n"
        );
    }

    #[test]
    fn prototype_has_default_values() {
        let types = Types::new(&[]).expect("no folder to read");
        let proto = |name: &str| prototype(&found(&types, name).expect("known")).expect("small");
        let twist = "linear:\n  x: 0.0\n  y: 0.0\n  z: 0.0\nangular:\n  x: 0.0\n  y: 0.0\n  z: 0.0\n";
        assert_eq!(proto("geometry_msgs/msg/Twist"), twist);
        assert_eq!(proto("std_srvs/srv/SetBool"), "data: false\n");
        assert_eq!(proto("example_interfaces/action/Fibonacci"), "order: 0\n");
        assert!(found(&types, "std_msgs/String").is_err() && found(&types, "std_msgs/msg/Nope").is_err());
    }

    #[test]
    fn types_of_other_kinds_are_left_out() {
        let types = Types::new(&[]).expect("no folder to read");
        let kinds = Kinds::default();
        let text = package(&types, &PackageArgs { package: "std_srvs".into(), kinds }).expect("known");
        assert_eq!(text, "std_srvs/srv/Empty\nstd_srvs/srv/SetBool\nstd_srvs/srv/Trigger\n");
        assert!(package(&types, &PackageArgs { package: "nope".into(), kinds }).is_err());
        assert!(section(&types, Kind::Action).starts_with("Actions:\n    "));
    }
}
