//! `rosparam`

use std::fs;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use runnel::XmlRpcValue;
use runnel::core::names;

use super::{Failure, print_joined};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::shown;
use crate::params::{file_text, pyyaml, yaml};

/// Read and set parameters, like rosparam of ROS 1
#[derive(Debug, Parser)]
#[command(name = "rosparam")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Delete(DeleteArgs),
    Dump(DumpArgs),
    Get(GetArgs),
    List(ListArgs),
    Load(LoadArgs),
    Set(SetArgs),
}

/// Delete a parameter with all below it
#[derive(Debug, clap::Args)]
struct DeleteArgs {
    /// The parameter; / for all
    name: String,

    /// Print what is done
    #[arg(short)]
    verbose: bool,
}

/// Write all parameters, or those below a name, as a YAML file
#[derive(Debug, clap::Args)]
struct DumpArgs {
    /// The file; without it, standard output
    file: Option<PathBuf>,

    /// Only parameters below this name
    #[arg(default_value = "")]
    namespace: String,

    /// Print what is done
    #[arg(short)]
    verbose: bool,
}

/// Print a parameter, or all below a name, as YAML
#[derive(Debug, clap::Args)]
struct GetArgs {
    /// The parameter; / for all
    name: String,

    /// Print text without quotes
    #[arg(short)]
    pretty: bool,

    /// Print what is done
    #[arg(short)]
    verbose: bool,
}

/// List parameters
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only parameters below this name
    namespace: Option<String>,
}

/// Set the parameters of a YAML file; others stay
#[derive(Debug, clap::Args)]
struct LoadArgs {
    /// The file; - for standard input
    file: PathBuf,

    /// Set them below this name
    #[arg(default_value = "")]
    namespace: String,

    /// Print what is done
    #[arg(short)]
    verbose: bool,
}

/// Set a parameter, or several below a name with a YAML mapping
#[derive(Debug, clap::Args)]
struct SetArgs {
    /// The parameter
    name: String,

    /// The value, in YAML: 5, 0.5, true, text, [1, 2], {a: 1}
    #[arg(required_unless_present_any = ["textfile", "binfile"], allow_negative_numbers = true)]
    value: Option<String>,

    /// Set it to the text of a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "binfile")]
    textfile: Option<PathBuf>,

    /// Set it to the bytes of a file
    #[arg(short, long, value_name = "FILE")]
    binfile: Option<PathBuf>,

    /// Print what is done
    #[arg(short)]
    verbose: bool,
}

pub fn run(parsed: Cli, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.query_context()?;
    let params = Params { cli, graph: Graph::new(&context) };
    match parsed.command {
        Command::Delete(args) => params.delete(&args),
        Command::Dump(args) => params.dump(&args),
        Command::Get(args) => params.get(&args),
        Command::List(args) => params.list(&args),
        Command::Load(args) => params.load(&args),
        Command::Set(args) => params.set(&args),
    }
}

struct Params<'a> {
    cli: &'a CliContext,
    graph: Graph<'a>,
}

impl Params<'_> {
    fn print_if(&self, wanted: bool, text: impl FnOnce() -> String) -> Result<(), CliError> {
        if wanted { self.cli.output.line(&text()) } else { Ok(()) }
    }

    fn value(&self, name: &str) -> Result<XmlRpcValue, Failure> {
        let value = self.graph.param(name)?;
        value.ok_or_else(|| Failure::failed(format!("Parameter [{name}] is not set")))
    }

    fn delete(&self, args: &DeleteArgs) -> Result<(), Failure> {
        let name = self.cli.absolute(&args.name);
        if name == "/" {
            // The root cannot be deleted.
            self.graph.set_param("/", XmlRpcValue::Struct(Default::default()))?;
            return Ok(self.print_if(args.verbose, || "deleted ENTIRE parameter server".to_owned())?);
        }
        self.graph.delete_param(&name)?;
        Ok(self.print_if(args.verbose, || format!("deleted parameter [{name}]"))?)
    }

    fn get(&self, args: &GetArgs) -> Result<(), Failure> {
        let name = self.cli.absolute(&args.name);
        self.print_if(args.verbose, || format!("getting parameter [{name}]"))?;
        let value = self.value(&name)?;
        let text = match pyyaml::pretty(&value).filter(|_| args.pretty) {
            Some(text) => text,
            None if pyyaml::is_plain_scalar(&value) => pyyaml::dump(&value),
            None => pyyaml::dump(&value) + "\n",
        };
        Ok(self.cli.output.text(&text)?)
    }

    fn dump(&self, args: &DumpArgs) -> Result<(), Failure> {
        let file = args.file.as_ref().map_or("None".to_owned(), |file| file.display().to_string());
        self.print_if(args.verbose, || format!("dumping namespace [{}] to file [{file}]", args.namespace))?;
        let name = self.cli.absolute(&args.namespace);
        let value = self.value(&name)?;
        if args.verbose {
            self.cli.output.text(&assignments(&name, &value))?;
        }
        let end = if pyyaml::is_plain_scalar(&value) { "...\n" } else { "" };
        let text = pyyaml::dump(&value) + end;
        match &args.file {
            None => Ok(self.cli.output.text(&text)?),
            Some(path) => fs::write(path, text).map_err(|error| Failure::failed(format!("{file}: {error}"))),
        }
    }

    fn list(&self, args: &ListArgs) -> Result<(), Failure> {
        let namespace = self.cli.absolute(args.namespace.as_deref().unwrap_or("/"));
        let outer = format!("{}/", namespace.trim_end_matches('/'));
        let mut names = self.graph.param_names()?;
        names.retain(|name| name.starts_with(&outer));
        Ok(print_joined(self.cli, &names)?)
    }

    fn load(&self, args: &LoadArgs) -> Result<(), Failure> {
        let file = args.file.display();
        self.print_if(args.verbose, || match file.to_string().as_str() {
            "-" => "reading parameters from stdin".to_owned(),
            file => format!("reading parameters from [{file}]"),
        })?;
        let text =
            file_text(&args.file).map_err(|error| Failure::failed(format!("file [{file}]: {error}")))?;
        let namespace = self.cli.absolute(&args.namespace);
        let mut documents = Vec::new();
        let values =
            yaml::documents(&text).map_err(|error| Failure::failed(format!("file [{file}]: {error}")));
        for mut value in values? {
            let inner = take_inner_namespace(&namespace, &mut value);
            if let Some(inner) = &inner {
                self.print_if(args.verbose, || format!("reading parameters into namespace [{inner}]"))?;
            }
            documents.push((inner.unwrap_or_else(|| namespace.clone()), value));
        }
        for (namespace, value) in documents {
            if args.verbose {
                self.cli.output.text(&assignments(&namespace, &value))?;
            }
            self.set_tree(&namespace, value, false)?;
        }
        Ok(())
    }

    fn set(&self, args: &SetArgs) -> Result<(), Failure> {
        let name = self.cli.absolute(&args.name);
        let unreadable = |error: &dyn std::fmt::Display, file: &PathBuf| {
            Failure::usage(format!("file '{}': {error}", file.display()))
        };
        let value = match (&args.textfile, &args.binfile, &args.value) {
            (Some(file), ..) => fs::read_to_string(file).map_err(|error| unreadable(&error, file))?.into(),
            (_, Some(file), _) => {
                XmlRpcValue::Binary(fs::read(file).map_err(|error| unreadable(&error, file))?)
            }
            // An empty text is hard to type in YAML.
            (.., Some(text)) if text.is_empty() => "".into(),
            (.., Some(text)) => yaml::from_text(text).map_err(Failure::failed)?,
            (.., None) => return Err(Failure::usage("Please specify a parameter value")),
        };
        self.set_tree(&name, value, args.verbose)
    }

    /// Sets a value, or each member of a mapping, so that other members stay.
    fn set_tree(&self, name: &str, value: XmlRpcValue, verbose: bool) -> Result<(), Failure> {
        let leaves = match value {
            value @ XmlRpcValue::Struct(_) => yaml::leaves(name, value).map_err(Failure::failed)?,
            _ if name == "/" => return Err(Failure::failed("global / can only be set to a dictionary")),
            value => vec![(name.to_owned(), value)],
        };
        for (name, value) in leaves {
            if matches!(&value, XmlRpcValue::Struct(members) if members.is_empty()) {
                continue;
            }
            let shown = pyyaml::python_text(&value);
            self.graph.set_param(&name, value)?;
            self.print_if(verbose, || format!("set parameter [{name}] to [{shown}]"))?;
        }
        Ok(())
    }
}

/// The namespace in a document: its member `_ns`, which is removed, within the given namespace.
fn take_inner_namespace(namespace: &str, value: &mut XmlRpcValue) -> Option<String> {
    let XmlRpcValue::Struct(members) = value else { return None };
    match members.remove("_ns")? {
        XmlRpcValue::String(inner) => Some(names::join(namespace, &inner)),
        _ => None,
    }
}

/// Each value with its full name on a line.
fn assignments(name: &str, value: &XmlRpcValue) -> String {
    match value {
        XmlRpcValue::Struct(members) => {
            let below = |inner: &str| format!("{}/{inner}", name.trim_end_matches('/'));
            let member = |(inner, value): (&String, &XmlRpcValue)| match value {
                XmlRpcValue::Struct(_) => assignments(&below(inner), value),
                value => format!("{}={}\n", shown(&below(inner)), shown(&pyyaml::python_text(value))),
            };
            members.iter().map(member).collect()
        }
        value => format!("{}\n", shown(&pyyaml::python_text(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_may_name_its_namespace() {
        let place = |inner: &str| {
            let mut value = yaml::from_text(&format!("{{_ns: '{inner}', a: 1}}")).expect("YAML");
            let namespace = take_inner_namespace("/robot", &mut value);
            assert_eq!(value, yaml::from_text("{a: 1}").expect("YAML"));
            namespace
        };
        assert_eq!(place("arm").as_deref(), Some("/robot/arm"));
        assert_eq!(place("/other").as_deref(), Some("/other"));
        assert_eq!(place("").as_deref(), Some("/robot"));
    }

    #[test]
    fn assignments_have_full_names() {
        let value = yaml::from_text("{a: {b: [1, x]}, c: true}").expect("YAML");
        assert_eq!(assignments("/", &value), "/a/b=[1, 'x']\n/c=True\n");
    }
}
