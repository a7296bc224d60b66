//! A node's own parameters, as in rclcpp: declared, described, and set by the node and by other programs.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use runnel_msgs::rcl_interfaces::msg::{ListParametersResult, ParameterDescriptor};

use crate::error::{Error, ParameterError};
use crate::node::node_options::NodeOptions;
use crate::node::{Node, NodeInner};
use crate::parameters::parameter_value::{FromParameter, ParameterValue, wanted_type};
use crate::parameters::{
    DeclaredType, IntoParameterDeclaration, NodeParameters, Parameter, ParameterCallbackHandle,
    ParameterDeclaration,
};
use crate::runtime::shared::NodeSetup;

/// The node's own parameters. Those that ROS 1 nodes share are [others](Node#parameters).
impl Node {
    /// Declares a parameter, and returns its value: that of the arguments (`-p rate:=5.0`, `--params-file`), or else the
    /// default. Other ROS 2 nodes can then read and set it. In ROS 1 it is at the parameter server below the node's own
    /// name, `limits.low` as `~limits/low`, and has the value that is there already, if the arguments give it none.
    ///
    /// The type of the value does not change. An integer of arguments and files, and of the parameter server, is accepted
    /// for a double. For description, range, read-only or dynamic types give a [`ParameterDeclaration`].
    ///
    /// ```no_run
    /// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
    /// let rate = node.declare_parameter("rate", 10.0)?;
    /// let frame = node.declare_parameter("frame", "base_link")?;
    /// println!("{frame} at {rate} Hz");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NodeParameter`] if it is declared already, the value has another type or is out of range, or a callback
    /// refuses it.
    pub fn declare_parameter<D: IntoParameterDeclaration>(
        &self,
        name: &str,
        declaration: D,
    ) -> Result<D::Value, Error> {
        let value = self.declare_optional_parameter(name, declaration.into_declaration())?;
        value.ok_or_else(|| ParameterError::NotSet { name: name.to_owned() }.into())
    }

    /// Declares a parameter that may have no value: see [`ParameterDeclaration::without_default`].
    ///
    /// # Errors
    /// As [`Node::declare_parameter`].
    pub fn declare_optional_parameter<T: DeclaredType>(
        &self,
        name: &str,
        declaration: ParameterDeclaration<T>,
    ) -> Result<Option<T>, Error> {
        let ParameterDeclaration { mut descriptor, default, ignore_override } = declaration;
        name.clone_into(&mut descriptor.name);
        let parameters = self.inner.parameters();
        let further = if ignore_override { None } else { self.override_at_master(name)? };
        let value = parameters.declare(descriptor, default.map(Into::into), ignore_override, further)?;
        value.map(|value| self.read_parameter(name, &value)).transpose()
    }

    /// Removes a declared parameter, also at the ROS 1 parameter server.
    ///
    /// # Errors
    /// [`Error::NodeParameter`] if it is not declared, or read-only.
    pub fn undeclare_parameter(&self, name: &str) -> Result<(), Error> {
        Ok(self.inner.parameters().undeclare(name)?)
    }

    /// Whether a parameter is declared.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.inner.declared_parameters().is_some_and(|parameters| parameters.has(name))
    }

    /// The value of a declared parameter.
    ///
    /// # Errors
    /// [`Error::NodeParameter`] if it is not declared or has no value; [`Error::Parameter`] if it has another type.
    pub fn get_parameter<T: FromParameter>(&self, name: &str) -> Result<T, Error> {
        let value = self.inner.parameters().get(name)?;
        let value = value.ok_or_else(|| ParameterError::NotSet { name: name.to_owned() })?;
        self.read_parameter(name, &value)
    }

    /// The value of a parameter, or `default` if it is not declared or has no value.
    ///
    /// # Errors
    /// [`Error::Parameter`] if it has another type.
    pub fn get_parameter_or<T: FromParameter>(&self, name: &str, default: T) -> Result<T, Error> {
        match self.get_parameter(name) {
            Err(Error::NodeParameter(ParameterError::NotDeclared { .. } | ParameterError::NotSet { .. })) => {
                Ok(default)
            }
            value => value,
        }
    }

    /// The values of all parameters below a prefix, by the rest of their names: `low` for `limits.low` below `limits`.
    /// An empty prefix selects all parameters.
    pub fn get_parameters_by_prefix(&self, prefix: &str) -> BTreeMap<String, ParameterValue> {
        let declared = self.inner.declared_parameters();
        declared.map_or_else(BTreeMap::new, |declared| declared.by_prefix(prefix).into_iter().collect())
    }

    /// Sets a declared parameter.
    ///
    /// # Errors
    /// [`Error::NodeParameter`] if it is not declared or is read-only, the value has another type or is out of range, or
    /// a callback refuses it.
    pub fn set_parameter(&self, name: &str, value: impl Into<ParameterValue>) -> Result<(), Error> {
        Ok(self.inner.parameters().set(Parameter::new(name, value))?)
    }

    /// Sets parameters, each on its own. The results have the order of the parameters; the errors are those of
    /// [`Node::set_parameter`].
    #[must_use = "a parameter may be refused: check each result"]
    pub fn set_parameters(
        &self,
        parameters: impl IntoIterator<Item = Parameter>,
    ) -> Vec<Result<(), ParameterError>> {
        let own = self.inner.parameters();
        parameters.into_iter().map(|parameter| own.set(parameter)).collect()
    }

    /// Sets all of these parameters, or none of them. Callbacks get them together, and there is one event for all.
    ///
    /// ```no_run
    /// use runnel::Parameter;
    ///
    /// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
    /// node.set_parameters_atomically([Parameter::new("limits.low", 1.0), Parameter::new("limits.high", 2.0)])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Node::set_parameter`], for the first that cannot be set.
    pub fn set_parameters_atomically(
        &self,
        parameters: impl IntoIterator<Item = Parameter>,
    ) -> Result<(), Error> {
        Ok(self.inner.parameters().set_atomically(parameters.into_iter().collect())?)
    }

    /// Description, type, range and so on of a declared parameter.
    ///
    /// # Errors
    /// [`Error::NodeParameter`] if it is not declared.
    pub fn describe_parameter(&self, name: &str) -> Result<ParameterDescriptor, Error> {
        Ok(self.inner.parameters().describe(name)?)
    }

    /// The names of declared parameters, and their prefixes. `depth` is the number of parts that a name has at most, below
    /// one of the prefixes if there are any; 0 is any number.
    pub fn list_parameters(&self, prefixes: &[&str], depth: u64) -> ListParametersResult {
        let prefixes: Vec<String> = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
        let declared = self.inner.declared_parameters();
        declared.map_or_else(ListParametersResult::default, |declared| declared.list(&prefixes, depth))
    }
}

/// Callbacks for changes of the node's own parameters. The one that was added last runs first. A callback may read
/// parameters, but not change any ([`ParameterError::ChangedInCallback`]).
impl Node {
    /// Adds a callback that can change the list of parameters before they are set, for example to set a second one with
    /// the first. An emptied list is refused. It is not called at a declaration.
    pub fn add_pre_set_parameters_callback(
        &self,
        callback: impl FnMut(&mut Vec<Parameter>) + Send + 'static,
    ) -> ParameterCallbackHandle {
        let parameters = self.inner.parameters();
        ParameterCallbackHandle::new(parameters, parameters.add_pre_set(callback))
    }

    /// Adds a callback that accepts new values, or refuses all of them with a reason. It is also called at declarations.
    /// A later callback may still refuse the values: react in a
    /// [post-set callback](Self::add_post_set_parameters_callback).
    ///
    /// ```no_run
    /// use runnel::{Parameter, ParameterValue};
    ///
    /// # fn on_node(node: &runnel::Node) {
    /// let _even = node.add_on_set_parameters_callback(|parameters: &[Parameter]| {
    ///     match parameters.iter().find(|parameter| parameter.name == "count").map(|count| &count.value) {
    ///         Some(Some(ParameterValue::Integer(count))) if count % 2 != 0 => Err(format!("count {count} is odd")),
    ///         _ => Ok(()),
    ///     }
    /// });
    /// # }
    /// ```
    pub fn add_on_set_parameters_callback(
        &self,
        callback: impl FnMut(&[Parameter]) -> Result<(), String> + Send + 'static,
    ) -> ParameterCallbackHandle {
        let parameters = self.inner.parameters();
        ParameterCallbackHandle::new(parameters, parameters.add_on_set(callback))
    }

    /// Adds a callback that is called after parameters were set or declared.
    pub fn add_post_set_parameters_callback(
        &self,
        callback: impl FnMut(&[Parameter]) + Send + 'static,
    ) -> ParameterCallbackHandle {
        let parameters = self.inner.parameters();
        ParameterCallbackHandle::new(parameters, parameters.add_post_set(callback))
    }
}

/// Parameters without a declaration.
impl Node {
    /// Whether parameters can be set without a declaration. Their types are dynamic. False by default.
    pub fn allow_undeclared_parameters(&self, allowed: bool) {
        self.inner.parameters().allow_undeclared(allowed);
    }

    /// Declares every parameter that arguments and files give the node and that is not declared yet, with a dynamic type.
    ///
    /// # Errors
    /// As [`Node::declare_parameter`].
    pub fn declare_parameters_from_overrides(&self) -> Result<(), Error> {
        let parameters = self.inner.parameters();
        for name in parameters.override_names().into_iter().filter(|name| !parameters.has(name)) {
            let declaration = ParameterDeclaration::<ParameterValue>::without_default();
            self.declare_optional_parameter(&name, declaration)?;
        }
        Ok(())
    }

    fn read_parameter<T: FromParameter>(&self, name: &str, value: &ParameterValue) -> Result<T, Error> {
        T::from_parameter(value).ok_or_else(|| Error::Parameter {
            name: name.to_owned(),
            is: value.kind(),
            value: value.short_text(),
            wanted: wanted_type::<T>(),
            in_master: false,
            origin: format!("a parameter of {}", self.full_name()),
        })
    }
}

/// Parameters without a declaration.
impl NodeOptions {
    /// Whether parameters can be set without a declaration: see [`Node::allow_undeclared_parameters`]. False by default.
    #[must_use]
    pub fn allow_undeclared_parameters(mut self, allowed: bool) -> Self {
        self.allow_undeclared_parameters = allowed;
        self.parameter_setup = Some(NodeSetup(apply_options));
        self
    }

    /// Whether the node declares every parameter that arguments and files give it: see
    /// [`Node::declare_parameters_from_overrides`]. False by default.
    #[must_use]
    pub fn automatically_declare_parameters_from_overrides(mut self, declared: bool) -> Self {
        self.automatically_declare_parameters_from_overrides = declared;
        self.parameter_setup = Some(NodeSetup(apply_options));
        self
    }
}

fn apply_options(node: Arc<dyn Any + Send + Sync>) -> Result<(), Error> {
    let Ok(inner) = node.downcast::<NodeInner>() else { return Ok(()) };
    let node = Node { inner };
    let options = &node.inner.options;
    node.allow_undeclared_parameters(options.allow_undeclared_parameters);
    if options.automatically_declare_parameters_from_overrides {
        node.declare_parameters_from_overrides()?;
    }
    Ok(())
}

impl NodeInner {
    /// The node's parameters, if it has declared any.
    pub(crate) fn declared_parameters(&self) -> Option<&Arc<NodeParameters>> {
        self.parameters.get()
    }

    /// The node's parameters.
    pub(crate) fn parameters(self: &Arc<Self>) -> &Arc<NodeParameters> {
        self.parameters.get_or_init(|| {
            let parameters = NodeParameters::new(self.overrides.clone(), false);
            self.mirror_at_master(&parameters);
            parameters
        })
    }
}
