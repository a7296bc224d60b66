//! Errors of the node API.

mod action;
mod conversion;
mod node_parameter;
mod parameter;
mod ros1_feature;
mod service;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use runnel_core::bounds::LengthBeyondLimit;
use runnel_core::dynamic::DynamicError;
use runnel_core::message::TailError;
use runnel_core::names::{ArgumentError, NameError};
use runnel_core::wire::{EncodeError, NoMemory};
use runnel_ros1::node::TopicError;
use runnel_ros1::rpc::CallError;

pub use action::ActionError;
pub(crate) use conversion::ConversionError;
pub use node_parameter::ParameterError;
pub use parameter::WantedType;
pub use ros1_feature::Ros1Feature;
pub use service::ServiceError;

/// Why an operation of the node API failed.
///
/// `Display` has the complete text, including the operating system's error. `Debug` puts the variant before it, which
/// a `main` that returns the error prints: `Blocked: topic /scan: subscriber ...`.
/// [`source`](std::error::Error::source) returns the error behind this one, for programs that look for a certain type.
/// A report of the whole chain of sources repeats parts of `Display`.
#[non_exhaustive]
pub enum Error {
    /// The operating system refused: descriptors or memory ran out, an address is in use.
    Io(io::Error),
    /// A master cannot listen: the address is in use, or is not an address of this host.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A name is not one that ROS allows.
    Name(NameError),
    /// A command-line argument that concerns ROS is malformed.
    Argument(ArgumentError),
    /// An environment variable, or the argument that replaces it, has an invalid value.
    Environment {
        /// Its name.
        variable: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The node uses the topic with another type already.
    Topic(TopicError),
    /// The master refuses a registration or a parameter: its name, and the master's reason.
    Refused(String),
    /// A subscriber accepted no message for so long that publishing would drop one.
    Blocked {
        /// The topic.
        topic: String,
        /// The slowest subscriber's node.
        subscriber: String,
        /// How long `publish` waited.
        waited: Duration,
    },
    /// A message is longer than subscribers accept; it was not published.
    TooLong {
        /// The topic.
        topic: String,
        /// Its length and the limit.
        length: LengthBeyondLimit,
    },
    /// There is no memory for a message, for its conversion to the other ROS generation, or for the copy that
    /// subscriptions of this process share; it was not published.
    NoMemory {
        /// The topic.
        topic: String,
        /// Length of the message, or of the part for which there is no memory.
        bytes: usize,
    },
    /// A message has no ROS 2 encoding, since a value in it is longer than its type allows; it was not published.
    Encode {
        /// The topic.
        topic: String,
        /// The value.
        why: EncodeError,
    },
    /// A message cannot be converted to its type in the other ROS generation, or was given as bytes that are not a
    /// valid message of its type; it was not published.
    Transcode {
        /// The topic.
        topic: String,
        /// What is wrong, and in which field.
        why: DynamicError,
    },
    /// A message's last array cannot be written without copying.
    Loan {
        /// The topic.
        topic: String,
        /// What is wrong with the message.
        why: TailError,
    },
    /// A parameter has another type than requested.
    Parameter {
        /// Its name.
        name: String,
        /// Its type.
        is: &'static str,
        /// The value as text, shortened; `None` if it is no single value.
        value: Option<String>,
        /// The requested type.
        wanted: Box<WantedType>,
        /// True if the master holds it, until it is set or deleted; false if the node's arguments set it.
        in_master: bool,
        /// Where the value is from: `parameter server`, `arguments of the node`, `params file robot.yaml`.
        origin: String,
    },
    /// An integer has more than the 32 bits that the ROS 1 parameter server holds; the parameter was not set.
    ParameterRange {
        /// The parameter's name, with the place in its value: `/wheels/left`, `/list[3]`.
        name: String,
        /// The integer.
        value: i64,
    },
    /// A parameter of the node itself was not declared, set or read.
    NodeParameter(ParameterError),
    /// A service call failed.
    Service {
        /// The service.
        service: String,
        /// The reason.
        why: ServiceError,
    },
    /// An operation on an action failed.
    Action {
        /// The action.
        action: String,
        /// The reason.
        why: ActionError,
    },
    /// A call to the master or to a node failed.
    Call(CallError),
    /// The request concerns no graph of the context.
    NotInGraph {
        /// The subject of the request.
        what: String,
    },
    /// The request concerns ROS 1 only, and the context is only in ROS 2.
    Ros1Only {
        /// The subject of the request.
        feature: Ros1Feature,
    },
    /// The master, which the request needs, does not answer. The context continues in ROS 2.
    NoMaster {
        /// The subject of the request, such as `parameter /rate` or `action /count`.
        what: String,
        /// The URI of the master.
        uri: String,
        /// Why the master does not answer.
        why: Box<CallError>,
    },
    /// The rate of a loop is not a positive number.
    Rate {
        /// The rate in hertz.
        hertz: f64,
    },
    /// The context already has a node of this name. The ROS 1 master would stop the first one.
    NodeExists {
        /// The full name.
        name: String,
    },
    /// A node is in an executor, and so cannot be added to another.
    NodeInExecutor {
        /// Its full name.
        node: String,
    },
    /// A node is of another context than the executor to which it was to be added.
    OtherContext {
        /// Its full name.
        node: String,
    },
    /// The context is shutting down.
    ShuttingDown,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Listen { address, error } => write!(f, "cannot listen on {address}: {error}"),
            Self::Name(error) => error.fmt(f),
            Self::Argument(error) => error.fmt(f),
            Self::Environment { variable, why } => write!(f, "{variable}: {why}"),
            Self::Topic(error) => error.fmt(f),
            Self::Refused(why) => write!(f, "the master refuses {why}"),
            Self::Blocked { topic, subscriber, waited } => {
                write!(
                    f,
                    "topic {topic}: subscriber {subscriber} took nothing for {} ms. Try: QoS::keep_last, or a longer time \
                     with set_max_blocking_time",
                    waited.as_millis()
                )
            }
            Self::TooLong { topic, length: LengthBeyondLimit { claimed, limit } } => {
                write!(f, "topic {topic}: a message of {claimed} bytes is too long, the limit is {limit}")
            }
            Self::NoMemory { topic, bytes } => {
                write!(f, "topic {topic}: no memory for a message of {bytes} bytes")
            }
            Self::Encode { topic, why } => write!(f, "topic {topic}: {why}"),
            Self::Transcode { topic, why } => write!(f, "topic {topic}: {why}"),
            Self::Loan { topic, why } => write!(f, "topic {topic}: {why}"),
            Self::Parameter { name, is, value, wanted, in_master, origin } => {
                match value {
                    Some(value) => write!(f, "parameter {name} is the {is} {value} ({origin})")?,
                    None => write!(f, "parameter {name} is of kind {is} ({origin})")?,
                }
                write!(f, ", but the node needs {wanted}. Try: ")?;
                match in_master {
                    true => write!(f, "runnel param set {name} {}", wanted.example),
                    false => f.write_str(wanted.expected),
                }
            }
            Self::ParameterRange { name, value } => write!(
                f,
                "parameter {name}: {value} does not fit the 32-bit integers of the ROS 1 parameter server; \
                 set it as a double or a string"
            ),
            Self::NodeParameter(why) => why.fmt(f),
            Self::Service { service, why } => write!(f, "service {service}: {why}"),
            Self::Action { action, why } => write!(f, "action {action}: {why}"),
            Self::Call(error) => error.fmt(f),
            Self::NotInGraph { what } => {
                write!(
                    f,
                    "{what}: it needs a graph that this context is not in. Try: another ContextOptions::graphs"
                )
            }
            Self::Ros1Only { feature } => feature.fmt(f),
            Self::NoMaster { what, uri, why } => write!(
                f,
                "{what}: no master answers at {uri}: {}. Try: start one with runnel master, or set ROS_MASTER_URI",
                why.reason()
            ),
            Self::Rate { hertz } => write!(f, "rate of {hertz} Hz: not a positive number"),
            Self::NodeExists { name } => write!(
                f,
                "node {name}: this context has a node of that name, and a ROS 1 master would stop the older one. Try: another name"
            ),
            Self::NodeInExecutor { node } => {
                write!(f, "node {node} is in an executor. Try: remove it there first")
            }
            Self::OtherContext { node } => {
                write!(f, "node {node} is of another context. Try: an executor of its context")
            }
            Self::ShuttingDown => f.write_str("the context is shutting down"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The variant's name already says that it is a call.
            Self::Call(error) => write!(f, "Call: {}: {}", error.call(), error.reason()),
            _ => write!(f, "{}: {self}", self.variant()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) | Self::Listen { error, .. } => Some(error),
            Self::Name(error) => Some(error),
            Self::Argument(error) => Some(error),
            Self::Topic(error) => Some(error),
            Self::TooLong { length, .. } => Some(length),
            Self::Encode { why, .. } => Some(why),
            Self::Transcode { why, .. } => Some(why),
            Self::Loan { why, .. } => Some(why),
            Self::NodeParameter(why) => Some(why),
            Self::Service { why, .. } => Some(why),
            Self::Action { why, .. } => Some(why),
            Self::Call(error) => Some(error),
            Self::NoMaster { why, .. } => Some(&**why),
            Self::Environment { .. }
            | Self::Refused(_)
            | Self::Blocked { .. }
            | Self::NoMemory { .. }
            | Self::Parameter { .. }
            | Self::ParameterRange { .. }
            | Self::NotInGraph { .. }
            | Self::Ros1Only { .. }
            | Self::Rate { .. }
            | Self::NodeExists { .. }
            | Self::NodeInExecutor { .. }
            | Self::OtherContext { .. }
            | Self::ShuttingDown => None,
        }
    }
}

impl Error {
    /// The variant's name.
    fn variant(&self) -> &'static str {
        match self {
            Self::Io(_) => "Io",
            Self::Listen { .. } => "Listen",
            Self::Name(_) => "Name",
            Self::Argument(_) => "Argument",
            Self::Environment { .. } => "Environment",
            Self::Topic(_) => "Topic",
            Self::Refused(_) => "Refused",
            Self::Blocked { .. } => "Blocked",
            Self::TooLong { .. } => "TooLong",
            Self::NoMemory { .. } => "NoMemory",
            Self::Encode { .. } => "Encode",
            Self::Transcode { .. } => "Transcode",
            Self::Loan { .. } => "Loan",
            Self::Parameter { .. } => "Parameter",
            Self::ParameterRange { .. } => "ParameterRange",
            Self::NodeParameter(_) => "NodeParameter",
            Self::Service { .. } => "Service",
            Self::Action { .. } => "Action",
            Self::Call(_) => "Call",
            Self::NotInGraph { .. } => "NotInGraph",
            Self::Ros1Only { .. } => "Ros1Only",
            Self::NoMaster { .. } => "NoMaster",
            Self::Rate { .. } => "Rate",
            Self::NodeExists { .. } => "NodeExists",
            Self::NodeInExecutor { .. } => "NodeInExecutor",
            Self::OtherContext { .. } => "OtherContext",
            Self::ShuttingDown => "ShuttingDown",
        }
    }

    /// The error if a message cannot be converted.
    pub(crate) fn conversion(topic: String, error: ConversionError) -> Self {
        match error {
            ConversionError::Value(why) => Self::Encode { topic, why },
            ConversionError::Mismatch(why) => Self::Transcode { topic, why },
            ConversionError::NoMemory(NoMemory { bytes }) => Self::NoMemory { topic, bytes },
        }
    }

    /// An I/O error with its context.
    pub(crate) fn io(what: impl fmt::Display, error: &io::Error) -> Self {
        Self::Io(io::Error::new(error.kind(), format!("{what}: {error}")))
    }
}

impl ActionError {
    /// The error of the action of this name.
    pub(crate) fn of(self, action: &str) -> Error {
        Error::Action { action: action.to_owned(), why: self }
    }
}

macro_rules! from {
    ($($variant:ident($error:ty)),*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}
from!(
    Io(io::Error),
    Name(NameError),
    Argument(ArgumentError),
    Topic(TopicError),
    NodeParameter(ParameterError),
    Call(CallError)
);

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use runnel_ros1::rpc::{CallTarget, Uri};

    use super::*;

    #[test]
    fn debug_names_variant_before_message() {
        let error = Error::Environment { variable: "ROS_IP", why: "no address".into() };
        assert_eq!(format!("{error}"), "ROS_IP: no address");
        assert_eq!(format!("{error:?}"), "Environment: ROS_IP: no address");
        assert_eq!(format!("{:?}", Error::ShuttingDown), "ShuttingDown: the context is shutting down");
        let call = CallTarget { uri: Uri::parse("http://robot:11311").unwrap(), method: "getPid".to_owned() };
        let error = Error::Call(CallError::TimedOut { call });
        assert_eq!(format!("{error:?}"), "Call: getPid of http://robot:11311/: no answer in time");
    }

    #[test]
    fn sources_skip_no_level() {
        let in_use = || io::Error::from(io::ErrorKind::AddrInUse);
        let address = "127.0.0.1:11311".parse().unwrap();
        for error in [Error::Listen { address, error: in_use() }, Error::Io(in_use())] {
            let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
            assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::AddrInUse));
        }
        let length = LengthBeyondLimit { claimed: 3, limit: 2 };
        let why = ServiceError::TooLong(length);
        let error = Error::Service { service: "/power".into(), why: why.clone() };
        let service = error.source().unwrap();
        assert_eq!(service.downcast_ref(), Some(&why));
        assert_eq!(service.source().unwrap().downcast_ref(), Some(&length));
        assert!(Error::ShuttingDown.source().is_none());
    }
}
