//! `rosmsg` and `rossrv`

use std::collections::BTreeSet;
use std::io::{self, BufRead};

use clap::{Parser, Subcommand};
use runnel::core::schema::{Generation, Kind, TypeName};

use super::front::EX_USAGE;
use super::{Failure, print_error, print_joined};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::interfaces::{Found, definition_text};
use crate::types::{Types, type_name};

pub const ABOUT_MESSAGES: &str = "Inspect message types, like rosmsg of ROS 1";
pub const ABOUT_SERVICES: &str = "Inspect service types, like rossrv of ROS 1";

#[derive(Debug, Parser)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the fields of a type, with those of nested messages indented
    #[command(visible_alias = "info")]
    Show(ShowArgs),
    /// List all types
    List,
    /// Print the MD5 sum of a type
    Md5(TypeArgs),
    /// List the types of a package
    Package(PackageArgs),
    /// List the packages that have types
    Packages(PackagesArgs),
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    subject: TypeArgs,

    /// Show the definition file with comments
    #[arg(short, long)]
    raw: bool,
}

#[derive(Debug, clap::Args)]
struct TypeArgs {
    /// The type as package/Type, or Type to search all packages; without it, a line of standard input
    #[arg(value_name = "TYPE")]
    type_name: Option<String>,
}

#[derive(Debug, clap::Args)]
struct PackageArgs {
    /// The package; without it, a line of standard input
    package: Option<String>,

    /// Print on a single line
    #[arg(short)]
    single_line: bool,
}

#[derive(Debug, clap::Args)]
struct PackagesArgs {
    /// Print on a single line
    #[arg(short)]
    single_line: bool,
}

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Messages,
    Services,
}

impl Mode {
    fn kind(self) -> Kind {
        match self {
            Self::Messages => Kind::Message,
            Self::Services => Kind::Service,
        }
    }
}

pub fn run(parsed: Cli, mode: Mode, cli: &CliContext) -> Result<(), Failure> {
    let types = Interfaces { cli, types: cli.types()?, mode };
    match parsed.command {
        Command::Show(args) => types.show(&args),
        Command::List => Ok(print_joined(cli, &types.names(|_| true))?),
        Command::Md5(args) => types.md5(&args),
        Command::Package(args) => types.package(&args),
        Command::Packages(args) => types.packages(&args),
    }
}

struct Interfaces<'a> {
    cli: &'a CliContext,
    types: Types,
    mode: Mode,
}

impl Interfaces<'_> {
    /// The names of matching types, in order.
    fn names(&self, wanted: impl Fn(&TypeName) -> bool) -> Vec<String> {
        let names = self.types.names(self.mode.kind()).into_iter();
        names.filter(|name| wanted(name)).map(ToString::to_string).collect()
    }

    fn show(&self, args: &ShowArgs) -> Result<(), Failure> {
        let typed = given(args.subject.type_name.as_deref())?;
        let ending = format!(".{}", self.mode.kind().extension());
        let typed = typed.strip_suffix(&ending).unwrap_or(&typed);
        if typed.contains(['.', ':']) {
            return Err(Failure::usage(format!("invalid type '{typed}': write package/Type")));
        }
        if typed.contains('/') {
            return Ok(self.cli.output.paragraph(&definition_text(&self.find(typed)?, args.raw))?);
        }
        let found = self.names(|name| name.name == typed);
        for name in &found {
            let text = definition_text(&self.find(name)?, args.raw);
            self.cli.output.paragraph(&format!("[{name}]:\n{text}"))?;
        }
        if found.is_empty() {
            Err(Failure::error(1, format!("Could not find msg '{typed}'")))
        } else {
            Ok(())
        }
    }

    fn find(&self, name: &str) -> Result<Found, Failure> {
        let name = type_name(name).map_err(|error| Failure::error(EX_USAGE, error))?;
        let found = Found::of_kind(self.types.library(), Generation::Ros1, self.mode.kind(), &name);
        found.map_err(|error| Failure::error(1, self.types.unknown(error)))
    }

    /// As in the original, an unknown type is reported but is no failure.
    fn md5(&self, args: &TypeArgs) -> Result<(), Failure> {
        let typed = given(args.type_name.as_deref())?;
        if typed.contains('/') {
            return match self.find(&typed) {
                Ok(found) => Ok(self.cli.output.line(found.md5())?),
                Err(_) => {
                    print_error(&format!("Cannot locate [{typed}]"));
                    Ok(())
                }
            };
        }
        let found = self.names(|name| name.name == typed);
        for name in &found {
            self.cli.output.line(&format!("[{name}]: {}", self.find(name)?.md5()))?;
        }
        if found.is_empty() {
            print_error(&format!("No messages matching the name [{typed}]"));
        }
        Ok(())
    }

    fn package(&self, args: &PackageArgs) -> Result<(), Failure> {
        let package = given(args.package.as_deref())?;
        let known = Kind::ALL
            .into_iter()
            .any(|kind| self.types.names(kind).into_iter().any(|name| name.package == package));
        if !known {
            return Err(Failure::error(EX_USAGE, format!("Invalid package: {package}")));
        }
        self.print(&self.names(|name| name.package == package), args.single_line)
    }

    fn packages(&self, args: &PackagesArgs) -> Result<(), Failure> {
        let names = self.types.names(self.mode.kind());
        let packages: BTreeSet<&str> = names.into_iter().map(|name| name.package.as_str()).collect();
        let packages: Vec<String> = packages.into_iter().map(str::to_owned).collect();
        self.print(&packages, args.single_line)
    }

    fn print(&self, names: &[String], single_line: bool) -> Result<(), Failure> {
        Ok(self.cli.output.paragraph(&names.join(if single_line { " " } else { "\n" }))?)
    }
}

/// The typed text, or the first line of standard input that is not blank.
fn given(typed: Option<&str>) -> Result<String, Failure> {
    if let Some(typed) = typed {
        return Ok(typed.to_owned());
    }
    for line in io::stdin().lock().lines() {
        let line = line.map_err(CliError::from)?;
        if !line.trim().is_empty() {
            return Ok(line.trim().to_owned());
        }
    }
    Err(Failure::usage("no name is given, neither as an argument nor on standard input"))
}
