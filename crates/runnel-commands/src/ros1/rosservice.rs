//! `rosservice`

use std::io::{self, IsTerminal};
use std::sync::Arc;

use clap::{Parser, Subcommand};
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::ServiceSchema;
use runnel::core::yaml::{self, EchoOptions};
use runnel::{Context, Node};

use super::{Failure, lies_in, print_joined};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::messages::documents;
use crate::output::lines;
use crate::services::{FOREVER, arguments, probe, request};

/// Inspect services, and call them, like rosservice of ROS 1
#[derive(Debug, Parser)]
#[command(name = "rosservice")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the arguments of a service
    Args(ServiceArgs),
    Call(CallArgs),
    Find(FindArgs),
    /// Show the provider, address, type and arguments of a service
    Info(ServiceArgs),
    List(ListArgs),
    /// Print the node that provides a service
    Node(ServiceArgs),
    /// Print the type of a service
    Type(ServiceArgs),
    /// Print the address of a service
    Uri(ServiceArgs),
}

#[derive(Debug, clap::Args)]
struct ServiceArgs {
    /// The service
    service: String,
}

/// Call a service and print the response
///
/// Without VALUES, requests come from standard input, YAML documents with --- between them.
#[derive(Debug, clap::Args)]
struct CallArgs {
    /// The service
    service: String,

    /// The request: one YAML text, or one text per field; after -- if one begins with a hyphen
    values: Vec<String>,

    /// Also print the request
    #[arg(short)]
    verbose: bool,

    /// Wait until a node provides the service
    #[arg(long)]
    wait: bool,
}

/// List the services of a type
#[derive(Debug, clap::Args)]
struct FindArgs {
    /// The service type, such as std_srvs/SetBool
    #[arg(value_name = "TYPE")]
    type_name: String,
}

/// List services
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only this service, and those below it
    namespace: Option<String>,

    /// Show the nodes that provide them
    #[arg(short, long)]
    nodes: bool,
}

pub fn run(parsed: Cli, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.query_context()?;
    let services = Services { cli, graph: Graph::new(&context), context: &context };
    match parsed.command {
        Command::Args(args) => services.args(&cli.absolute(&args.service)),
        Command::Call(args) => services.call(&args),
        Command::Find(args) => services.find(&args.type_name),
        Command::Info(args) => services.info(&cli.absolute(&args.service)),
        Command::List(args) => services.list(&args),
        Command::Node(args) => services.node(&cli.absolute(&args.service)),
        Command::Type(args) => services.type_name(&cli.absolute(&args.service)),
        Command::Uri(args) => services.uri(&cli.absolute(&args.service)),
    }
}

struct Services<'a> {
    cli: &'a CliContext,
    context: &'a Context,
    graph: Graph<'a>,
}

impl Services<'_> {
    fn line(&self, line: &str) -> Result<(), Failure> {
        Ok(self.cli.output.line(line)?)
    }

    fn paragraph(&self, text: &str) -> Result<(), Failure> {
        Ok(self.cli.output.paragraph(text)?)
    }

    fn list(&self, args: &ListArgs) -> Result<(), Failure> {
        let mut services = self.graph.system_state()?.services;
        if let Some(namespace) = &args.namespace {
            let is_wanted = lies_in(self.cli, namespace);
            services.retain(|service, _| is_wanted(service));
        }
        let line = |(service, nodes): (String, Vec<String>)| match args.nodes {
            true => format!("{service} {}", nodes.join(",")),
            false => service,
        };
        Ok(self.cli.output.text(&lines(services.into_iter().map(line)))?)
    }

    /// The node that provides a service.
    fn provider(&self, service: &str) -> Result<Option<String>, CliError> {
        let nodes = self.graph.system_state()?.services.remove(service);
        Ok(nodes.and_then(|nodes| nodes.into_iter().next()))
    }

    fn node(&self, service: &str) -> Result<(), Failure> {
        let node = self.provider(service)?;
        self.line(&node.ok_or_else(|| Failure::error(1, format!("Unknown service: {service}")))?)
    }

    fn uri(&self, service: &str) -> Result<(), Failure> {
        let uri = self.graph.service_uri(service)?;
        self.line(&uri.ok_or_else(|| Failure::error(1, format!("Unknown service: {service}")))?)
    }

    fn type_name(&self, service: &str) -> Result<(), Failure> {
        if self.graph.service_uri(service)?.is_none() {
            return Err(Failure::error(1, format!("Unknown service [{service}]")));
        }
        self.line(&probe(&self.caller()?, service)?.type_name)
    }

    fn info(&self, service: &str) -> Result<(), Failure> {
        let Some(node) = self.provider(service)? else {
            return Err(Failure::error(1, "ERROR: unknown service"));
        };
        self.line(&format!("Node: {node}"))?;
        // As in the original, a service that has just ended is no failure.
        let Some(uri) = self.graph.service_uri(service)? else {
            return Err(Failure::error(0, "ERROR: service is no longer available"));
        };
        self.line(&format!("URI: {uri}"))?;
        let type_name = probe(&self.caller()?, service)?.type_name;
        self.line(&format!("Type: {type_name}"))?;
        let schema = self.cli.types()?.service(&type_name)?;
        self.line(&format!("Args: {}", arguments(&schema).join(" ")))
    }

    fn args(&self, service: &str) -> Result<(), Failure> {
        let schema = self.definition_of(&self.caller()?, service)?;
        self.line(&arguments(&schema).join(" "))
    }

    fn find(&self, type_name: &str) -> Result<(), Failure> {
        let caller = self.caller()?;
        let services = self.graph.listing()?.services.into_iter().map(|(service, _)| service);
        let is_such =
            |service: &String| probe(&caller, service).is_ok_and(|info| info.type_name == type_name);
        Ok(print_joined(self.cli, &services.filter(is_such).collect::<Vec<_>>())?)
    }

    fn caller(&self) -> Result<Node, CliError> {
        self.cli.node(self.context, "service")
    }

    fn definition_of(&self, caller: &Node, service: &str) -> Result<ServiceSchema, Failure> {
        if self.graph.service_uri(service)?.is_none() {
            return Err(Failure::failed(format!("Service [{service}] is not available.")));
        }
        Ok(self.cli.types()?.service(&probe(caller, service)?.type_name)?)
    }

    fn call(&self, args: &CallArgs) -> Result<(), Failure> {
        let service = self.cli.absolute(&args.service);
        let caller = self.caller()?;
        if args.wait {
            self.graph.check_master()?;
            caller.wait_for_service(&service, FOREVER)?;
        }
        let schema = Arc::new(self.definition_of(&caller, &service)?);
        let client = caller.create_dynamic_client(&service, &schema)?;
        let call = |values: &[String]| -> Result<(), Failure> {
            let request = request(&schema.request, values).map_err(Failure::failed)?;
            if args.verbose {
                self.paragraph(&format!("{}\n---", text(&request)))?;
            }
            self.paragraph(&text(&client.call(&request)?))
        };
        if !args.values.is_empty() || schema.request.def.fields.is_empty() {
            return call(&args.values);
        }
        if io::stdin().is_terminal() {
            return Err(Failure::usage("Please specify service arguments"));
        }
        documents(io::stdin).into_iter().try_for_each(|document| call(&[document?]))
    }
}

fn text(message: &DynamicMessage) -> String {
    yaml::to_yaml(message, &EchoOptions::default())
}
