//! What every command needs of the command line and the environment.

use std::path::PathBuf;

use runnel::core::names::{self, Remapping};
use runnel::io::clock;
use runnel::io::lookup::Family;
use runnel::ros1::rpc::Uri;
use runnel::{Context, ContextOptions, Graphs, Node};

use crate::arguments::Arguments;
use crate::error::CliError;
use crate::output::Output;
use crate::types::Types;

/// What nodes of this program are called.
const NODE: &str = "runnel";

/// One run of the program.
pub struct Session {
    /// Where answers go.
    pub output: Output,
    /// Where the nodes of this program stand. Names are resolved and remapped here, once.
    context_arguments: Vec<String>,
    namespace: String,
    remapping: Remapping,
    interfaces: Vec<PathBuf>,
    /// The program of ROS 1 that this run is, if it is one.
    program: Option<&'static str>,
}

impl Session {
    /// A session of these arguments, with folders to look for message definitions in.
    ///
    /// # Errors
    /// When a name in the arguments is not valid.
    pub fn new(arguments: Arguments, json: bool, interfaces: Vec<PathBuf>) -> Result<Self, CliError> {
        let ros = arguments.ros;
        let context_arguments = context_arguments(&ros);
        let given = ros.namespace.or_else(|| std::env::var("ROS_NAMESPACE").ok());
        let namespace = names::clean_namespace(given.as_deref().unwrap_or_default());
        let remapping = Remapping::new(&ros.remaps, &namespace, NODE)?;
        let program = None;
        Ok(Self { output: Output { json }, context_arguments, namespace, remapping, interfaces, program })
    }

    /// The same for a program of ROS 1, after which its nodes are called as those of the original.
    #[must_use]
    pub fn of_program(self, program: &'static str) -> Self {
        Self { program: Some(program), ..self }
    }

    /// The absolute name that the user means by `name`, remapped.
    ///
    /// # Errors
    /// When it is not a valid name.
    pub fn resolve(&self, name: &str) -> Result<String, CliError> {
        if name.is_empty() {
            return Err(CliError::Usage("a name is expected, not an empty text".into()));
        }
        let resolved = names::resolve(&self.namespace, NODE, name)?;
        Ok(self.remapping.remap(&resolved).to_owned())
    }

    /// The same for what need not be a valid name, since it is only looked up: only made absolute, and not remapped. An empty
    /// text is the namespace.
    pub fn absolute(&self, name: &str) -> String {
        match name.strip_prefix('~') {
            Some(private) => names::join(&names::join(&self.namespace, NODE), private),
            None => names::join(&self.namespace, name),
        }
    }

    /// A context for a command that asks and ends: Ctrl-C ends the process at once.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn asking(&self) -> Result<Context, CliError> {
        self.context(false)
    }

    /// The same in these graphs.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn asking_in(&self, graphs: Graphs) -> Result<Context, CliError> {
        Ok(Context::with_options(self.options(false).graphs(graphs))?)
    }

    /// A context for a command that runs until Ctrl-C, and then takes its leave of the graph.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn running(&self) -> Result<Context, CliError> {
        self.context(true)
    }

    /// The same in these graphs.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn running_in(&self, graphs: Graphs) -> Result<Context, CliError> {
        Ok(Context::with_options(self.options(true).graphs(graphs))?)
    }

    /// The same in both, of which that of ROS 1 is joined when its master comes: nothing waits for that, and nobody is told of it.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn running_before_master(&self) -> Result<Context, CliError> {
        let options = self.options(true).graphs(Graphs::Both).wait_for_master(false);
        Ok(Context::with_options(options)?)
    }

    /// True if the user says which master is meant.
    pub fn names_master(&self) -> bool {
        let variable = std::env::var_os("ROS_MASTER_URI").is_some_and(|uri| !uri.is_empty());
        variable || self.context_arguments.iter().any(|argument| argument.starts_with("__master:="))
    }

    /// The arguments that say where nodes of this session stand, such as `__ip:=10.0.0.1`.
    pub fn context_arguments(&self) -> &[String] {
        &self.context_arguments
    }

    fn context(&self, signals: bool) -> Result<Context, CliError> {
        Ok(Context::with_options(self.options(signals))?)
    }

    /// How contexts of this session are made.
    pub fn options(&self, signals: bool) -> ContextOptions {
        let options = ContextOptions::default().arguments(self.context_arguments.clone()).signals(signals);
        // Commands answer whoever typed them: nothing goes to /rosout, and time is that of the wall.
        options.rosout(false).sim_time(false)
    }

    /// The master that is named, or the one that there usually is.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn master_uri(&self) -> Result<Uri, CliError> {
        Ok(self.asking()?.master_uri().clone())
    }

    /// A node for a command, with a name that no other has, unless the user names it.
    ///
    /// In ROS 2 it begins with an underscore, as those of the ros2 commands do (`_ros2cli_..`), so that lists leave it out. ROS 1
    /// has no hidden names, and its users know the form `rostopic_PID_TIME`.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn node(&self, context: &Context, command: &str) -> Result<Node, CliError> {
        let process = std::process::id();
        if let Some(program) = self.program {
            let milliseconds = clock::realtime().as_nanos() / 1_000_000;
            return Ok(context.create_node(&names::anonymous(program, &format!("{process}_{milliseconds}")))?);
        }
        let unique = format!("{process}_{:06x}", runnel::io::host::random()? & 0xff_ffff);
        let hidden = if context.graphs() == Graphs::Ros1 { "" } else { "_" };
        Ok(context.create_node(&names::anonymous(&format!("{hidden}{NODE}_{command}"), &unique))?)
    }

    /// The message types that are known.
    ///
    /// # Errors
    /// When a folder that was given cannot be read.
    pub fn types(&self) -> Result<Types, CliError> {
        Types::new(&self.interfaces)
    }

    /// The same for later, should they be needed.
    pub fn types_loader(&self) -> impl Fn() -> Result<Types, CliError> + Send + 'static {
        let interfaces = self.interfaces.clone();
        move || Types::new(&interfaces)
    }
}

/// Which addresses of hosts nodes of this process take.
pub fn family() -> Family {
    if std::env::var("ROS_IPV6").as_deref() == Ok("on") { Family::V6 } else { Family::V4 }
}

/// The arguments that say where a node stands in the graph.
fn context_arguments(ros: &names::Arguments) -> Vec<String> {
    let given = [
        ("__master", &ros.master),
        ("__hostname", &ros.hostname),
        ("__ip", &ros.ip),
        ("__ns", &ros.namespace),
        ("__name", &ros.node_name),
    ];
    let argument =
        |(name, value): (&str, &Option<String>)| value.as_ref().map(|value| format!("{name}:={value}"));
    given.into_iter().filter_map(argument).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_remapped_once() {
        let line = ["a:=b", "b:=/c", "__master:=http://m:1", "__name:=me"];
        let ros = names::Arguments::parse(line).expect("sound");
        let expected = ["__master:=http://m:1", "__name:=me"];
        assert_eq!(context_arguments(&ros), expected, "what remaps is not for the nodes");
        let arguments = Arguments { ros, own: Vec::new() };
        let session = Session::new(arguments, false, Vec::new()).expect("sound");
        assert_eq!(session.resolve("a").expect("a name"), "/b");
        assert!(session.resolve("").is_err());
    }
}
