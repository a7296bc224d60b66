//! Checks of the arguments of the master's methods.
//!
//! Accepted values and error texts follow rosmaster 1.15, as found by experiment; the length limits are Runnel's.

use crate::xmlrpc::Value;

use super::names;

/// Kind of an argument after the caller's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arg {
    /// A topic to resolve.
    Topic,
    /// A service to resolve.
    Service,
    /// A node to resolve.
    Node,
    /// `package/Type` or `*`.
    TopicType,
    /// The URI of the caller's own XML-RPC server.
    CallerApi,
    /// The URI of a service.
    ServiceApi,
    /// A namespace, resolved to a prefix of names.
    Subgraph,
    /// A parameter key to resolve.
    Key,
    /// A parameter key that is not resolved.
    RawKey,
    /// The value of a parameter, which is bounded when it is stored.
    ParamValue,
    /// A text for people; any other value counts as empty.
    Message,
}

impl Arg {
    /// The argument's name in error texts.
    fn name(self) -> &'static str {
        match self {
            Arg::Topic => "topic",
            Arg::Service => "service",
            Arg::Node => "node",
            Arg::TopicType => "topic_type",
            Arg::CallerApi => "caller_api",
            Arg::ServiceApi => "service_api",
            Arg::Subgraph => "subgraph",
            Arg::Key | Arg::RawKey => "key",
            Arg::ParamValue => "value",
            Arg::Message => "msg",
        }
    }

    /// The text of the argument; names are resolved.
    ///
    /// # Errors
    /// The error of the argument.
    pub(super) fn check(self, value: &Value, caller: &str, most: usize) -> Result<String, String> {
        let text = self.text(value).map_err(|why| format!("ERROR: parameter [{}] {why}", self.name()))?;
        let resolved = match self {
            Arg::Topic | Arg::Service | Arg::Node | Arg::Key => names::resolve(text, caller),
            Arg::Subgraph => names::subgraph(text, caller),
            _ => text.to_owned(),
        };
        if resolved.len() > most {
            return Err(format!("ERROR: parameter [{}] is beyond the limit of {most} bytes", self.name()));
        }
        Ok(resolved)
    }

    fn text(self, value: &Value) -> Result<&str, &'static str> {
        match self {
            Arg::Topic | Arg::Service => legal_name(value).and_then(not_global),
            Arg::Node => legal_name(value),
            Arg::TopicType => non_empty(value).and_then(resource_name),
            Arg::CallerApi | Arg::ServiceApi => api(value),
            Arg::Subgraph => value.as_str().ok_or("must be a string"),
            Arg::Key | Arg::RawKey if is_falsy(value) => Err("must be specified and non-empty"),
            Arg::Key | Arg::RawKey => value.as_str().ok_or("must be a string"),
            Arg::ParamValue => Ok(""),
            Arg::Message => Ok(value.as_str().unwrap_or_default()),
        }
    }
}

/// The caller's name, unresolved.
///
/// # Errors
/// If it is not a string, or too long.
pub(super) fn caller_name(value: &Value, most: usize) -> Result<&str, String> {
    let name = value.as_str().ok_or("caller_id must be a string")?;
    if name.len() > most {
        return Err(format!("caller_id is beyond the limit of {most} bytes"));
    }
    Ok(name)
}

fn non_empty(value: &Value) -> Result<&str, &'static str> {
    value.as_str().filter(|text| !text.is_empty()).ok_or("must be a non-empty string")
}

fn legal_name(value: &Value) -> Result<&str, &'static str> {
    let name = non_empty(value)?;
    if name.contains([':', ' ']) { Err("contains illegal chars") } else { Ok(name) }
}

fn not_global(name: &str) -> Result<&str, &'static str> {
    if name == "/" { Err("cannot be the global namespace") } else { Ok(name) }
}

fn resource_name(name: &str) -> Result<&str, &'static str> {
    if name == "*" || name.matches('/').count() == 1 {
        Ok(name)
    } else {
        Err("is not a valid package resource name")
    }
}

fn api(value: &Value) -> Result<&str, &'static str> {
    let uri = value.as_str().filter(|text| !text.is_empty()).ok_or("is not an XMLRPC URI")?;
    if uri.starts_with("http://") || uri.starts_with("rosrpc://") {
        Ok(uri)
    } else {
        Err("is not an RPC URI")
    }
}

/// Whether Python treats a value as false.
fn is_falsy(value: &Value) -> bool {
    match value {
        Value::Int(number) => *number == 0,
        Value::Bool(truth) => !truth,
        Value::Double(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Struct(members) => members.is_empty(),
        Value::DateTime(_) | Value::Binary(_) => false,
    }
}
