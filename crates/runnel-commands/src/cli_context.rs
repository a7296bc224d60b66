//! Context of a command: output form, names, and contexts of nodes.

use std::path::PathBuf;

use runnel::core::names::{self, Remapping};
use runnel::{Context, ContextOptions, Graphs, Node, NodeOptions};
use runnel_io::clock;
use runnel_io::lookup::Family;
use runnel_ros1::rpc::Uri;

use crate::arguments::Arguments;
use crate::error::CliError;
use crate::originals::Original;
use crate::output::Output;
use crate::types::Types;

/// The base name of this program's nodes.
const NODE: &str = "runnel";

/// Context of one run of the program.
pub struct CliContext {
    /// The form of output.
    pub output: Output,
    /// Arguments for contexts of this program. Names are resolved and remapped here, once.
    context_arguments: Vec<String>,
    namespace: String,
    remapping: Remapping,
    interfaces: Vec<PathBuf>,
    /// The original in whose place this run is, if any.
    original: Option<Original>,
}

impl CliContext {
    /// The context of these arguments, with folders of message definitions.
    ///
    /// # Errors
    /// When a name in the arguments is invalid.
    pub fn new(arguments: Arguments, json: bool, interfaces: Vec<PathBuf>) -> Result<Self, CliError> {
        let ros = arguments.ros;
        let context_arguments = context_arguments(&ros);
        let given = ros.namespace.or_else(|| std::env::var("ROS_NAMESPACE").ok());
        let namespace = names::clean_namespace(given.as_deref().unwrap_or_default());
        let remapping = Remapping::new(&ros.remaps, &namespace, NODE)?;
        let original = None;
        Ok(Self { output: Output { json }, context_arguments, namespace, remapping, interfaces, original })
    }

    /// The same in the place of an original.
    #[must_use]
    pub fn of_original(self, original: Original) -> Self {
        Self { original: Some(original), ..self }
    }

    /// True if the command uses only the ROS 2 graph, whatever its options say.
    pub fn is_only_in_ros2(&self) -> bool {
        self.original == Some(Original::Ros2)
    }

    /// True if the command is one of `runnel`, and none of an original.
    #[cfg(feature = "bag")]
    pub fn is_runnel(&self) -> bool {
        self.original.is_none()
    }

    /// The absolute, remapped name that `name` means.
    ///
    /// # Errors
    /// When it is not a valid name.
    pub fn resolve(&self, name: &str) -> Result<String, CliError> {
        if name.is_empty() {
            return Err(CliError::Usage("empty name".into()));
        }
        let resolved = names::resolve(&self.namespace, NODE, name)?;
        Ok(self.remapping.remap(&resolved).to_owned())
    }

    /// The remappings of the command line, between absolute names.
    #[cfg(feature = "bag")]
    pub fn remapping(&self) -> &Remapping {
        &self.remapping
    }

    /// An absolute name without remapping, for names that are only looked up and need not be valid. An empty text is
    /// the namespace.
    pub fn absolute(&self, name: &str) -> String {
        match name.strip_prefix('~') {
            Some(private) => names::join(&names::join(&self.namespace, NODE), private),
            None => names::join(&self.namespace, name),
        }
    }

    /// A context for a command that asks and ends: Ctrl-C ends the process immediately.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn query_context(&self) -> Result<Context, CliError> {
        self.context(false)
    }

    /// The same in these graphs.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn query_context_in(&self, graphs: Graphs) -> Result<Context, CliError> {
        Ok(Context::with_options(self.options(false).graphs(graphs))?)
    }

    /// A context for a command that runs until Ctrl-C, and then unregisters.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn running_context(&self) -> Result<Context, CliError> {
        self.context(true)
    }

    /// The same in these graphs.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn running_context_in(&self, graphs: Graphs) -> Result<Context, CliError> {
        Ok(Context::with_options(self.options(true).graphs(graphs))?)
    }

    /// The same in both graphs. The ROS 1 graph is joined when its master starts, without a wait and without a note.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn running_context_without_master(&self) -> Result<Context, CliError> {
        let options = self.options(true).graphs(Graphs::Both).wait_for_master(false);
        Ok(Context::with_options(options)?)
    }

    /// True if an argument or a variable names the master.
    pub fn names_master(&self) -> bool {
        let variable = std::env::var_os("ROS_MASTER_URI").is_some_and(|uri| !uri.is_empty());
        variable || self.context_arguments.iter().any(|argument| argument.starts_with("__master:="))
    }

    /// The arguments for nodes, such as `__ip:=10.0.0.1`.
    pub fn context_arguments(&self) -> &[String] {
        &self.context_arguments
    }

    fn context(&self, signals: bool) -> Result<Context, CliError> {
        Ok(Context::with_options(self.options(signals))?)
    }

    /// Options of all contexts of this run.
    pub fn options(&self, signals: bool) -> ContextOptions {
        let options = ContextOptions::default().arguments(self.context_arguments.clone()).signals(signals);
        // Commands answer on the terminal: nothing goes to /rosout or to a file, and time is wall time.
        options.rosout(false).log_file(false).sim_time(false)
    }

    /// The URI of the named master, or of the default one.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn master_uri(&self) -> Result<Uri, CliError> {
        Ok(self.query_context()?.master_uri().clone())
    }

    /// A node for a command, with a unique name unless the user names it.
    ///
    /// In ROS 2 its name begins with an underscore, as names of the ros2 commands do (`_ros2cli_..`), so that lists
    /// hide it. ROS 1 has no hidden names, and its users know the form `rostopic_PID_TIME`.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn node(&self, context: &Context, command: &str) -> Result<Node, CliError> {
        let process = std::process::id();
        if let Some(Original::Ros1(program)) = self.original {
            let milliseconds = clock::realtime().as_nanos() / 1_000_000;
            let name = names::anonymous(program, &format!("{process}_{milliseconds}"));
            return self.node_of_name(context, &name);
        }
        let unique = format!("{process}_{:06x}", runnel_io::host::random()? & 0xff_ffff);
        let hidden = if context.graphs() == Graphs::Ros1 { "" } else { "_" };
        let base = if self.is_only_in_ros2() { "ros2cli" } else { NODE };
        self.node_of_name(context, &names::anonymous(&format!("{hidden}{base}_{command}"), &unique))
    }

    /// A node for a command, with this name.
    ///
    /// # Errors
    /// When sockets cannot be opened, or the name is not valid.
    pub fn node_of_name(&self, context: &Context, name: &str) -> Result<Node, CliError> {
        // A command has no parameters that others could use.
        let options =
            NodeOptions::default().start_parameter_services(false).start_parameter_event_publisher(false);
        Ok(context.create_node_with_options(name, options)?)
    }

    /// The known message types.
    ///
    /// # Errors
    /// When a folder in the arguments cannot be read.
    pub fn types(&self) -> Result<Types, CliError> {
        Types::new(&self.interfaces)
    }

    /// The same, loaded later if they are needed.
    pub fn types_loader(&self) -> impl Fn() -> Result<Types, CliError> + Send + 'static {
        let interfaces = self.interfaces.clone();
        move || Types::new(&interfaces)
    }
}

/// The address family of nodes of this process.
pub fn family() -> Family {
    if std::env::var("ROS_IPV6").as_deref() == Ok("on") { Family::V6 } else { Family::V4 }
}

/// The arguments that concern contexts.
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
    fn name_is_remapped_once() {
        let line = ["a:=b", "b:=/c", "__master:=http://m:1", "__name:=me"];
        let ros = names::Arguments::parse(line).expect("sound");
        let expected = ["__master:=http://m:1", "__name:=me"];
        assert_eq!(context_arguments(&ros), expected, "remappings are not passed to nodes");
        let arguments = Arguments { ros, own: Vec::new() };
        let cli = CliContext::new(arguments, false, Vec::new()).expect("sound");
        assert_eq!(cli.resolve("a").expect("a name"), "/b");
        assert!(cli.resolve("").is_err());
    }
}
