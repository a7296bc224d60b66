//! Client for the parameters of another ROS 2 node.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use runnel_core::message::Service;
use runnel_core::qos::QoS;
use runnel_io::clock;
use runnel_msgs::rcl_interfaces::msg::{
    ListParametersResult, ParameterDescriptor, ParameterEvent, SetParametersResult,
};
use runnel_msgs::rcl_interfaces::srv::{
    DescribeParameters, DescribeParametersRequest, DescribeParametersResponse, GetParameterTypes,
    GetParameterTypesRequest, GetParameters, GetParametersRequest, GetParametersResponse, ListParameters,
    ListParametersRequest, SetParameters, SetParametersAtomically, SetParametersAtomicallyRequest,
    SetParametersRequest, SetParametersResponse,
};

use crate::error::{Error, ParameterError};
use crate::node::Node;
use crate::parameters::parameter_value::ParameterValue;
use crate::parameters::{PARAMETER_EVENTS, Parameter, from_message};
use crate::services::client::Client;
use crate::topics::subscription::Subscription;

/// How long a blocking call waits for its response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads and sets the parameters of another ROS 2 node, like rclcpp's `AsyncParametersClient`. Each operation exists as a
/// blocking call, which fails after the client's [timeout](Self::timeout), and as a future without a time limit.
///
/// ```no_run
/// use std::time::Duration;
/// use runnel::Parameter;
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let camera = node.create_parameter_client("/camera")?;
/// if camera.wait_for_services(Duration::from_secs(5))? {
///     println!("{:?}", camera.get_parameter("rate")?);
///     camera.set_parameters(&[Parameter::new("rate", 15.0)])?.remove(0)?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// In ROS 1, the parameters of all nodes are at the master: [`Node::get_param`].
pub struct ParameterClient {
    node: Node,
    name: String,
    timeout: Duration,
    get: Client<GetParameters>,
    get_types: Client<GetParameterTypes>,
    describe: Client<DescribeParameters>,
    list: Client<ListParameters>,
    set: Client<SetParameters>,
    set_atomically: Client<SetParametersAtomically>,
}

impl Node {
    /// Creates a client for the parameters of the node with this name.
    ///
    /// # Errors
    /// If the name is not valid.
    pub fn create_parameter_client(&self, node: &str) -> Result<ParameterClient, Error> {
        ParameterClient::new(self, self.resolve(node)?)
    }
}

impl ParameterClient {
    fn new(node: &Node, name: String) -> Result<Self, Error> {
        let service = |service: &str| format!("{name}/{service}");
        Ok(Self {
            get: node.create_client(&service("get_parameters"))?,
            get_types: node.create_client(&service("get_parameter_types"))?,
            describe: node.create_client(&service("describe_parameters"))?,
            list: node.create_client(&service("list_parameters"))?,
            set: node.create_client(&service("set_parameters"))?,
            set_atomically: node.create_client(&service("set_parameters_atomically"))?,
            node: node.clone(),
            name,
            timeout: TIMEOUT,
        })
    }

    /// Sets how long blocking calls wait for a response; 10 s by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The full name of the other node.
    pub fn node_name(&self) -> &str {
        &self.name
    }

    /// Waits at most `timeout` until all six services of the other node are there. False if they are not.
    ///
    /// # Errors
    /// As [`Client::wait_for_service`].
    pub fn wait_for_services(&self, timeout: Duration) -> Result<bool, Error> {
        let until = clock::monotonic() + timeout;
        let left = || until.since(clock::monotonic());
        Ok(self.list.wait_for_service(left())?
            && self.set.wait_for_service(left())?
            && self.get.wait_for_service(left())?
            && self.get_types.wait_for_service(left())?
            && self.describe.wait_for_service(left())?
            && self.set_atomically.wait_for_service(left())?)
    }

    /// The value of a parameter; `None` if it is not set.
    ///
    /// # Errors
    /// [`Error::Service`] if there is no response; [`Error::NodeParameter`] if the other node has not declared it.
    pub fn get_parameter(&self, name: &str) -> Result<Option<ParameterValue>, Error> {
        Ok(self.get_parameters(&[name])?.into_iter().next().flatten())
    }

    /// As [`get_parameter`](Self::get_parameter), as a future.
    pub fn get_parameter_async(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Option<ParameterValue>, Error>> + Send + use<> {
        let values = self.get_parameters_async(&[name]);
        async move { Ok(values.await?.into_iter().next().flatten()) }
    }

    /// The values of parameters, in the order of the names; `None` for each that is not set.
    ///
    /// # Errors
    /// [`Error::Service`] if there is no response; [`Error::NodeParameter`] if the other node has not declared one of
    /// them: it then returns none.
    pub fn get_parameters(&self, names: &[&str]) -> Result<Vec<Option<ParameterValue>>, Error> {
        values(names, self.call(&self.get, &GetParametersRequest { names: owned(names) })?)
    }

    /// As [`get_parameters`](Self::get_parameters), as a future.
    pub fn get_parameters_async(
        &self,
        names: &[&str],
    ) -> impl Future<Output = Result<Vec<Option<ParameterValue>>, Error>> + Send + use<> {
        let response = self.get.call_async(&GetParametersRequest { names: owned(names) });
        let names = owned(names);
        async move { values(&names, response.await?) }
    }

    /// The numbers of the types of parameters (`rcl_interfaces/msg/ParameterType`).
    ///
    /// # Errors
    /// As [`get_parameters`](Self::get_parameters).
    pub fn get_parameter_types(&self, names: &[&str]) -> Result<Vec<u8>, Error> {
        let types = self.call(&self.get_types, &GetParameterTypesRequest { names: owned(names) })?.types;
        complete(names, types)
    }

    /// As [`get_parameter_types`](Self::get_parameter_types), as a future.
    pub fn get_parameter_types_async(
        &self,
        names: &[&str],
    ) -> impl Future<Output = Result<Vec<u8>, Error>> + Send + use<> {
        let names = owned(names);
        let response = self.get_types.call_async(&GetParameterTypesRequest { names: names.clone() });
        async move { complete(&names, response.await?.types) }
    }

    /// The descriptors of parameters.
    ///
    /// # Errors
    /// As [`get_parameters`](Self::get_parameters).
    pub fn describe_parameters(&self, names: &[&str]) -> Result<Vec<ParameterDescriptor>, Error> {
        let request = DescribeParametersRequest { names: owned(names) };
        let DescribeParametersResponse { descriptors } = self.call(&self.describe, &request)?;
        complete(names, descriptors)
    }

    /// As [`describe_parameters`](Self::describe_parameters), as a future.
    pub fn describe_parameters_async(
        &self,
        names: &[&str],
    ) -> impl Future<Output = Result<Vec<ParameterDescriptor>, Error>> + Send + use<> {
        let names = owned(names);
        let response = self.describe.call_async(&DescribeParametersRequest { names: names.clone() });
        async move { complete(&names, response.await?.descriptors) }
    }

    /// The names of parameters and their prefixes: see [`Node::list_parameters`].
    ///
    /// # Errors
    /// [`Error::Service`] if there is no response.
    pub fn list_parameters(&self, prefixes: &[&str], depth: u64) -> Result<ListParametersResult, Error> {
        let request = ListParametersRequest { prefixes: owned(prefixes), depth };
        Ok(self.call(&self.list, &request)?.result)
    }

    /// As [`list_parameters`](Self::list_parameters), as a future.
    pub fn list_parameters_async(
        &self,
        prefixes: &[&str],
        depth: u64,
    ) -> impl Future<Output = Result<ListParametersResult, Error>> + Send + use<> {
        let response = self.list.call_async(&ListParametersRequest { prefixes: owned(prefixes), depth });
        async move { Ok(response.await?.result) }
    }

    /// Sets parameters, each on its own. One without a value is deleted. The results have the order of the parameters.
    ///
    /// # Errors
    /// [`Error::Service`] if there is no response.
    pub fn set_parameters(&self, parameters: &[Parameter]) -> Result<Vec<Result<(), ParameterError>>, Error> {
        results(parameters.len(), self.call(&self.set, &set_request(parameters))?)
    }

    /// As [`set_parameters`](Self::set_parameters), as a future.
    pub fn set_parameters_async(
        &self,
        parameters: &[Parameter],
    ) -> impl Future<Output = Result<Vec<Result<(), ParameterError>>, Error>> + Send + use<> {
        let (count, response) = (parameters.len(), self.set.call_async(&set_request(parameters)));
        async move { results(count, response.await?) }
    }

    /// Sets all of these parameters, or none of them.
    ///
    /// # Errors
    /// [`Error::Service`] if there is no response; [`Error::NodeParameter`] with the other node's reason if it sets none.
    pub fn set_parameters_atomically(&self, parameters: &[Parameter]) -> Result<(), Error> {
        Ok(result(self.call(&self.set_atomically, &set_atomically_request(parameters))?.result)?)
    }

    /// As [`set_parameters_atomically`](Self::set_parameters_atomically), as a future.
    pub fn set_parameters_atomically_async(
        &self,
        parameters: &[Parameter],
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let response = self.set_atomically.call_async(&set_atomically_request(parameters));
        async move { Ok(result(response.await?.result)?) }
    }

    /// Calls `callback` for every change of the other node's parameters, on a spinning thread.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn on_parameter_event(
        &self,
        mut callback: impl FnMut(&ParameterEvent) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let name = self.name.clone();
        let is_its = move |event: &ParameterEvent| event.node == name;
        self.node.create_subscription(
            PARAMETER_EVENTS,
            QoS::parameter_events(),
            move |event: &ParameterEvent| {
                if is_its(event) {
                    callback(event);
                }
            },
        )
    }

    fn call<S: Service>(&self, client: &Client<S>, request: &S::Request) -> Result<S::Response, Error> {
        client.call_timeout(request, self.timeout)
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// An answer with an element for each name. A node that does not know one of the names returns none.
fn complete<T>(names: &[impl AsRef<str>], answer: Vec<T>) -> Result<Vec<T>, Error> {
    if answer.len() == names.len() {
        return Ok(answer);
    }
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    Err(ParameterError::NotDeclared { name: names.join(" or ") }.into())
}

fn values(
    names: &[impl AsRef<str>],
    response: GetParametersResponse,
) -> Result<Vec<Option<ParameterValue>>, Error> {
    let values = complete(names, response.values)?;
    // A type that a later version of ROS may add cannot be shown.
    Ok(values.iter().map(|value| from_message(value).unwrap_or_default()).collect())
}

fn set_request(parameters: &[Parameter]) -> SetParametersRequest {
    SetParametersRequest { parameters: parameters.iter().map(Parameter::to_message).collect() }
}

fn set_atomically_request(parameters: &[Parameter]) -> SetParametersAtomicallyRequest {
    SetParametersAtomicallyRequest { parameters: parameters.iter().map(Parameter::to_message).collect() }
}

fn results(count: usize, response: SetParametersResponse) -> Result<Vec<Result<(), ParameterError>>, Error> {
    let mut results: Vec<_> = response.results.into_iter().map(result).collect();
    let missing = || Err(ParameterError::Refused { reason: "the node has not answered for it".to_owned() });
    results.resize_with(count, missing);
    Ok(results)
}

fn result(result: SetParametersResult) -> Result<(), ParameterError> {
    match result {
        SetParametersResult { successful: true, .. } => Ok(()),
        SetParametersResult { reason, .. } if reason.is_empty() => {
            Err(ParameterError::Refused { reason: "the node refuses it without a reason".to_owned() })
        }
        SetParametersResult { reason, .. } => Err(ParameterError::Refused { reason }),
    }
}

impl fmt::Debug for ParameterClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterClient").field("node", &self.name).finish_non_exhaustive()
    }
}
